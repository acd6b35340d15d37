package io.cephcsi.bindings;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The README shows the tutorial letter by letter. */
class TutorialTest {
  private static final Pattern JAVA = Pattern.compile("(?s)```java\n(.*?)```");

  @Test
  void theReadmeShowsTheCodeThatIsTested() throws IOException {
    String readme = Files.readString(Path.of("README.md"));
    String code = Files.readString(Path.of("src/test/java/io/cephcsi/bindings/Tutorial.java"));
    List<String> blocks =
        JAVA.matcher(readme).results().map((MatchResult found) -> found.group(1)).toList();
    assertThat(blocks).hasSizeGreaterThan(5);
    int end = 0;
    for (String block : blocks) {
      int begin = code.indexOf(indented(block), end);
      assertThat(begin).as("Tutorial.java has, in this order:\n" + block).isNotNegative();
      end = begin + indented(block).length();
    }
  }

  /** Methods are shown without the indentation that they have in the class. */
  private static String indented(String block) {
    return block.startsWith("import") ? block : block.replaceAll("(?m)^(?=.)", "  ");
  }
}
