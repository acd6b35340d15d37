package io.cephcsi.testing;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How a test starts a JVM of its own. */
public final class ChildJvm {
  private ChildJvm() {}

  /** The JVM's program. */
  public static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  /** The class path of the tests, also where Surefire hides it in a manifest. */
  public static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  /**
   * The command that runs a class as the launcher of the driver does: with the serial collector,
   * without the second compiler, which a process of seconds pays for and does not need.
   *
   * @return a list that can be added to
   */
  public static List<String> command(List<String> options, Class<?> main, String... args) {
    List<String> command =
        new ArrayList<>(List.of(java(), "-Xss4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(options);
    if (!options.contains("-cp")) {
      command.addAll(List.of("-cp", classPath()));
    }
    command.add(main.getName());
    command.addAll(List.of(args));
    return command;
  }
}
