package io.cephcsi.driver.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Pages of the documentation, as tests look at them; paths are those of the module driver. */
public final class Documents {
  private static final Path SOURCES = Path.of("src/main/java/io/cephcsi/driver");
  private static final Pattern SPAN = Pattern.compile("`([^`\\n]+)`");
  private static final Pattern STATEMENT =
      Pattern.compile("(?m)^ {4}\\S.*(?:\\n {6,}.*)*$"); // further lines are indented more
  private static final Pattern HEADING = Pattern.compile("(?m)^(#+) (.+)$");

  private final String text;

  private Documents(String text) {
    this.text = text;
  }

  /** All pages below a folder. */
  public static Documents below(String folder) {
    return new Documents(
        pages(Path.of(folder)).stream().map(Documents::read).collect(Collectors.joining("\n")));
  }

  static List<Path> pages(Path folder) {
    return files(folder, ".md");
  }

  static List<Path> files(Path folder, String end) {
    try (Stream<Path> all = Files.walk(folder)) {
      List<Path> found =
          all.filter(file -> file.toString().endsWith(end))
              .filter(file -> !file.toString().contains("/target/"))
              .sorted()
              .toList();
      assertThat(found).as("files in " + folder).isNotEmpty();
      return found;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The driver's sources. */
  public static List<String> sources() {
    return files(SOURCES, ".java").stream().map(Documents::read).toList();
  }

  /** A source of the driver. */
  public static String source(String name) {
    return read(SOURCES.resolve(name));
  }

  /** Whether a word stands in a code span, alone or with an argument, or begins a table's code. */
  public boolean hasWord(String word) {
    return hasWord(text, word);
  }

  /** Whether a text has a word in a code span. */
  public static boolean hasWord(String text, String word) {
    return Pattern.compile("`(?:[^`\\n]*[ ,])?" + Pattern.quote(word) + "(?:[ ,=:][^`\\n]*)?`")
        .matcher(text)
        .find();
  }

  /** All pages of the repository. */
  public static List<Path> allPages() {
    Path root = Path.of("..");
    return Stream.of(
            pages(Path.of("docs")),
            pages(Path.of("deploy")),
            pages(root.resolve(".github")),
            pages(root.resolve("benchmarks")),
            pages(root.resolve("native-bindings")),
            List.of(root.resolve("README.md")))
        .flatMap(List::stream)
        .toList();
  }

  /** The code of a page: spans, and statements of indented blocks with their further lines. */
  public static List<String> code(Path page) {
    String all = read(page);
    List<String> code = new ArrayList<>();
    SPAN.matcher(all).results().forEach(span -> code.add(span.group(1)));
    STATEMENT.matcher(all).results().forEach(found -> code.add(found.group()));
    return code;
  }

  /** What stands below a heading, up to the next one of its level or above. */
  public static String section(Path page, String heading) {
    String all = read(page);
    List<Integer> ends = new ArrayList<>();
    int begin = -1;
    int level = 0;
    Matcher matcher = HEADING.matcher(all);
    while (matcher.find()) {
      if (begin < 0 && matcher.group(2).equals(heading)) {
        begin = matcher.end();
        level = matcher.group(1).length();
      } else if (begin >= 0 && matcher.group(1).length() <= level) {
        ends.add(matcher.start());
        break;
      }
    }
    assertThat(begin).as(page + " has the heading \"" + heading + "\"").isNotNegative();
    return all.substring(begin, ends.isEmpty() ? all.length() : ends.get(0));
  }

  /** The first block of code of a text, which is indented by four blanks. */
  public static String block(String text) {
    return text.lines()
        .dropWhile(line -> !line.startsWith("    "))
        .takeWhile(line -> line.startsWith("    ") || line.isEmpty())
        .map(line -> line.isEmpty() ? line : line.substring(4))
        .collect(Collectors.joining("\n"));
  }
}
