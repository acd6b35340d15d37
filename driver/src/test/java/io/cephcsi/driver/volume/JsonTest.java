package io.cephcsi.driver.volume;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
  private static Object tree(String json) throws IOException {
    return Json.tree(json.getBytes(UTF_8));
  }

  @Test
  void treeIsMapsAndListsAndText() throws IOException {
    assertThat(tree("[{\"a\": {\"b\": [\"x\", 1, 2.5, true, null, [], {}]}, \"ü\": \"\\u00fc\"}]"))
        .isEqualTo(
            List.of(
                Map.of(
                    "a",
                    Map.of("b", List.of("x", "1", "2.5", "true", "", List.of(), Map.of())),
                    "ü",
                    "ü")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " \n", "null"})
  void treeOfNothingIsEmpty(String json) throws IOException {
    assertThat(tree(json)).isEqualTo("");
  }

  @ParameterizedTest
  @ValueSource(strings = {"[", "{\"a\"", "{\"a\": }", "[1,]", "[1 2]", "{a: 1}", "]", "[\"x]"})
  void treeRefusesWhatIsNotJson(String json) {
    assertThatThrownBy(() -> tree(json)).isInstanceOf(JsonProcessingException.class);
  }

  @Test
  void treeRefusesWhatIsNestedTooDeeply() {
    assertThatThrownBy(() -> tree("[".repeat(100_000))).isInstanceOf(JsonProcessingException.class);
  }
}
