package io.cephcsi.driver.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.journal.JournalDirectory.Name;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NameCursorTest {
  private static final String STEM = "long-".repeat(20);
  private final TreeSet<String> names = new TreeSet<>();

  @BeforeEach
  void fill() {
    for (int i = 0; i < 25; i++) {
      names.add("pvc-" + i);
      names.add(STEM + i);
    }
    names.add("zzz");
  }

  /** A directory in pages of 7, however many are asked for. */
  private JournalDirectory.Page page(String after, int max) {
    List<String> page = names.tailSet(after, false).stream().limit(Math.min(7, max)).toList();
    String last = page.isEmpty() ? after : page.get(page.size() - 1);
    return new JournalDirectory.Page(
        page.stream().map(name -> new Name(name, new UUID(0, 0), 1)).toList(),
        last,
        names.higher(last) != null);
  }

  private List<String> walk(Optional<ListPosition> from, int max) {
    return new NameCursor(this::page, from).next(max).stream().map(Name::requestName).toList();
  }

  private static Optional<ListPosition> behind(String name) {
    String token = ListPosition.behind(JournalKind.VOLUME, "c", 1, name).token();
    return Optional.of(ListPosition.parse(JournalKind.VOLUME, token));
  }

  @Test
  void everyNameComesOnceWhateverThePageSize() {
    for (int size = 1; size < 10; size++) {
      List<String> all = new ArrayList<>();
      List<String> page = walk(Optional.empty(), size);
      while (!page.isEmpty()) {
        all.addAll(page);
        page = walk(behind(all.get(all.size() - 1)), size);
      }
      assertThat(all).hasSameSizeAs(names).containsExactlyInAnyOrderElementsOf(names);
    }
  }

  @Test
  void namesThatStayComeOnceWhileOthersAreDeletedAndAdded() {
    TreeSet<String> stay = new TreeSet<>(names);
    List<String> all = new ArrayList<>();
    List<String> page = walk(Optional.empty(), 3);
    int added = 0;
    while (!page.isEmpty()) {
      all.addAll(page);
      String last = page.get(page.size() - 1);
      names.remove(last);
      stay.remove(last);
      names.add(STEM + "added" + added);
      names.add("a" + added++);
      page = added < 100 ? walk(behind(last), 3) : List.of();
    }
    assertThat(all).doesNotHaveDuplicates().containsAll(stay);
  }
}
