package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CallCommandTest {
  private static final String KEY = "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==";

  @TempDir Path folder;

  @Test
  void listsTheMethods() {
    Program call = call();
    assertThat(call.exitCode()).isZero();
    assertThat(call.out().lines())
        .contains(
            "csi.v1.Controller/CreateVolume",
            "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace")
        .doesNotHaveDuplicates();
  }

  @Test
  void anUnknownMethodIsAWrongCommandLine() {
    Program call = call("MakeCoffee");
    assertThat(call.exitCode()).isEqualTo(2);
    assertThat(call.err()).contains("MakeCoffee is not known");
  }

  @Test
  void aNameThatSeveralMethodsHaveIsRefusedWithTheirFullNames() {
    Program call = call("Probe");
    assertThat(call.exitCode()).isEqualTo(2);
    assertThat(call.err()).contains("csi.v1.Identity/Probe", "identity.Identity/Probe");
  }

  @Test
  void aRequestThatDoesNotFitIsRefused() {
    for (String request : new String[] {"{\"no_such_field\": 1}", "{", "[]", "{\"name\": {}}"}) {
      Program call = call("CreateVolume", request);
      assertThat(call.exitCode()).as(request).isEqualTo(2);
      assertThat(call.err()).as(request).contains("the request is not valid").hasLineCount(1);
    }
  }

  @Test
  void secretsOnTheCommandLineAreRefusedAndNotRepeated() {
    Program call = call("DeleteVolume", "{\"secrets\": {\"userKey\": \"" + KEY + "\"}}");
    assertThat(call.exitCode()).isEqualTo(2);
    assertThat(call.err()).contains("--secrets-file").doesNotContain(KEY);
  }

  @Test
  void aLineOfTheSecretsThatIsNoPairIsRefusedAndNotRepeated() throws IOException {
    Path secrets = Files.writeString(folder.resolve("secrets"), "# comment\n\nno pair\n");
    Program call = call("DeleteVolume", "{}", "--secrets-file", secrets.toString());
    assertThat(call.exitCode()).isEqualTo(2);
    assertThat(call.err()).contains("KEY=VALUE").doesNotContain("no pair");
  }

  @Test
  void secretsForAMethodThatTakesNoneAreRefused() throws IOException {
    Path secrets = Files.writeString(folder.resolve("secrets"), "userID=a\nuserKey=" + KEY);
    Program call = call("GetPluginInfo", "{}", "--secrets-file", secrets.toString());
    assertThat(call.exitCode()).isEqualTo(2);
    assertThat(call.err()).contains("takes no secrets").doesNotContain(KEY);
  }

  @Test
  void stdinCannotBeBoth() {
    Program call = call("DeleteVolume", "-", "--secrets-file", "-");
    assertThat(call.exitCode()).isEqualTo(2);
    assertThat(call.err()).contains("stdin");
  }

  @Test
  void nobodyOnTheSocketIsAFailureWithTheStatus() {
    Program call = call("GetPluginInfo");
    assertThat(call.exitCode()).isEqualTo(1);
    assertThat(call.out()).isEmpty();
    assertThat(call.err()).startsWith("UNAVAILABLE: ").hasLineCount(1);
  }

  private Program call(String... args) {
    return Program.call(folder.resolve("nobody.sock"), args);
  }
}
