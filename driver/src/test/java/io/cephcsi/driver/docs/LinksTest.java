package io.cephcsi.driver.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Relative links and anchors of the documentation lead somewhere. */
class LinksTest {
  private static final Pattern LINK =
      Pattern.compile("\\]\\(([^)\\s]+)\\)|(?:src|href)=\"([^\"]+)\"");
  private static final Pattern HEADING = Pattern.compile("^#+ (.+)$");
  private static final Pattern IN_SOURCE = Pattern.compile("docs/[a-z/-]+\\.md");

  @Test
  void everyRelativeLinkAndAnchorExists() {
    List<String> broken = new ArrayList<>();
    int seen = 0;
    for (Path page : Documents.allPages()) {
      Matcher matcher = LINK.matcher(withoutCode(Documents.read(page)));
      while (matcher.find()) {
        String link = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
        if (!link.matches("[a-z]+:.*")) {
          seen++;
          if (!exists(page, link)) {
            broken.add(page + ": " + link);
          }
        }
      }
    }
    assertThat(broken).isEmpty();
    assertThat(seen).isGreaterThan(30); // not vacuous
  }

  @Test
  void everyPageOfTheDocumentationIsLinkedFromAnother() {
    Set<Path> linked = new HashSet<>();
    for (Path page : Documents.allPages()) {
      Matcher matcher = LINK.matcher(withoutCode(Documents.read(page)));
      while (matcher.find()) {
        String link = String.valueOf(matcher.group(1)).split("#", 2)[0];
        if (!link.isEmpty()) {
          linked.add(page.toAbsolutePath().resolveSibling(link).normalize());
        }
      }
    }
    assertThat(Documents.pages(Path.of("docs")))
        .allMatch(page -> linked.contains(page.toAbsolutePath().normalize()));
  }

  @Test
  void pagesThatSourcesNameExist() {
    Set<String> named = new TreeSet<>();
    for (String source : Documents.sources()) {
      IN_SOURCE
          .matcher(source.replaceAll("\\s*\\*\\s*", " "))
          .results()
          .forEach(found -> named.add(found.group()));
    }
    assertThat(named).isNotEmpty();
    assertThat(named).allMatch(name -> Files.isRegularFile(Path.of(name)));
  }

  private static boolean exists(Path page, String link) {
    String[] parts = link.split("#", 2);
    Path target = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]);
    if (!Files.exists(target)) {
      return false;
    }
    return parts.length == 1 || anchors(target).contains(parts[1]);
  }

  private static String withoutCode(String text) {
    return text.lines()
        .filter(line -> !line.startsWith("    "))
        .collect(Collectors.joining("\n"))
        .replaceAll("(?s)```.*?```", "")
        .replaceAll("`[^`\\n]*`", "");
  }

  /** As GitHub makes them of headings. */
  private static Set<String> anchors(Path page) {
    Set<String> anchors = new HashSet<>();
    Map<String, Integer> times = new HashMap<>();
    for (String line : Documents.read(page).replaceAll("(?s)```.*?```", "").lines().toList()) {
      Matcher heading = HEADING.matcher(line);
      if (heading.matches()) {
        String anchor =
            heading
                .group(1)
                .replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1")
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-');
        int before = times.merge(anchor, 1, Integer::sum) - 1;
        anchors.add(before == 0 ? anchor : anchor + "-" + before);
      }
    }
    return anchors;
  }
}
