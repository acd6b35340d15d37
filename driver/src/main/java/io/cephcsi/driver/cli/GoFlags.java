package io.cephcsi.driver.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Makes the arguments of an existing deployment readable: Go programs take {@code -type=rbd} for
 * {@code --type=rbd}, and have no commands.
 */
final class GoFlags {
  private static final Set<String> GENERAL = Set.of("-h", "--help", "-V", "--version");

  private GoFlags() {}

  static List<String> normalize(String... args) {
    List<String> normal = new ArrayList<>();
    for (String arg : args) {
      boolean singleDash =
          arg.length() > 2 && arg.charAt(0) == '-' && Character.isLetter(arg.charAt(1));
      normal.add(singleDash ? "-" + arg : arg);
    }
    if (!normal.isEmpty() && normal.get(0).startsWith("-") && !GENERAL.contains(normal.get(0))) {
      normal.add(0, "serve");
    }
    return normal;
  }
}
