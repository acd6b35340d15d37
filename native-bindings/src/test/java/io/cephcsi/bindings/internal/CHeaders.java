package io.cephcsi.bindings.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The functions that the installed headers of Ceph's libraries declare, as gcc reads them. */
final class CHeaders {
  private static final String INCLUDES =
      """
      #include <errno.h>
      #include <linux/fscrypt.h>
      #include <stdbool.h>
      #include <stddef.h>
      #include <rados/librados.h>
      #include <sys/file.h>
      #include <sys/statvfs.h>
      #include <rbd/librbd.h>
      #define __USE_FILE_OFFSET64
      #include <cephfs/libcephfs.h>
      """;
  private static final Pattern DECLARATION =
      Pattern.compile("/\\*.*?\\*/ extern (.*?)((?:rados|rbd|ceph)_\\w+) \\((.*)\\);");

  private final Path folder;
  private final Map<String, Function> functions;

  private CHeaders(Path folder, Map<String, Function> functions) {
    this.folder = folder;
    this.functions = functions;
  }

  /**
   * A function.
   *
   * @param result the type of its result
   * @param parameters the types of its parameters
   */
  record Function(String result, List<String> parameters) {}

  /** Lets gcc list all declarations. */
  static CHeaders read(Path folder) {
    try {
      Path list = folder.resolve("declarations");
      String errors = compile(folder, "", "-aux-info", list.toString());
      if (!errors.isEmpty()) {
        throw new AssertionError(
            "the headers of librados, librbd and libcephfs do not compile; run ci/install ceph:\n"
                + errors);
      }
      Map<String, Function> functions = new HashMap<>();
      for (String line : Files.readAllLines(list)) {
        Matcher matcher = DECLARATION.matcher(line);
        if (matcher.matches()) {
          functions.put(
              matcher.group(2),
              new Function(matcher.group(1).strip(), parameters(matcher.group(3))));
        }
      }
      return new CHeaders(folder, functions);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The function of a name. */
  Function function(String name) {
    Function function = functions.get(name);
    if (function == null) {
      throw new AssertionError(name + " is not in the headers");
    }
    return function;
  }

  /** Compiles C behind the headers; gives the compiler's complaints, empty when there are none. */
  String compile(String code) {
    return compile(folder, code);
  }

  /** Splits at the commas that do not lie in parentheses; {@code void} is an empty list. */
  static List<String> parameters(String list) {
    List<String> types = new ArrayList<>();
    int depth = 0;
    int begin = 0;
    for (int i = 0; i <= list.length(); i++) {
      char c = i < list.length() ? list.charAt(i) : ',';
      if (c == '(') {
        depth++;
      } else if (c == ')') {
        depth--;
      } else if (c == ',' && depth == 0) {
        types.add(list.substring(begin, i).strip());
        begin = i + 1;
      }
    }
    return types.equals(List.of("void")) ? List.of() : types;
  }

  private static String compile(Path folder, String code, String... options) {
    try {
      Path source = Files.writeString(folder.resolve("check.c"), INCLUDES + code);
      List<String> command = new ArrayList<>(List.of("gcc", "-std=gnu11", "-w", "-fsyntax-only"));
      command.addAll(List.of(options));
      command.add(source.toString());
      Process gcc = start(command);
      String said = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      int status = gcc.waitFor();
      if (status != 0 && said.isEmpty()) {
        throw new AssertionError("gcc ended with " + status + " and said nothing");
      }
      return status == 0 ? "" : said;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted while gcc ran", e);
    }
  }

  private static Process start(List<String> command) {
    try {
      return new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException e) {
      throw new AssertionError("gcc cannot be started; run ci/install build", e);
    }
  }
}
