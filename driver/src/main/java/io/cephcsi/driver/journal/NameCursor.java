package io.cephcsi.driver.journal;

import io.cephcsi.driver.journal.JournalDirectory.Name;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over the names of a directory from a position on, with one page of them in memory. The
 * order is that of the names' bytes; names with the same stem as a token that holds only a stem are
 * ordered by hash. One round trip for every 1,000 names. For one thread.
 */
public final class NameCursor {
  private static final int PAGE = 1000;

  private final Pages directory;
  private final Deque<Name> ready = new ArrayDeque<>();
  private final List<Name> alike = new ArrayList<>();
  private final @Nullable ListPosition from;
  private String after;
  private boolean more = true;

  /**
   * @param directory what is walked
   * @param from where to go on; empty to begin
   */
  public NameCursor(JournalDirectory directory, Optional<ListPosition> from) {
    this(directory::page, from);
  }

  NameCursor(Pages directory, Optional<ListPosition> from) {
    this.directory = directory;
    this.from = from.orElse(null);
    this.after = from.map(ListPosition::stem).orElse("");
  }

  /** The next names, at most so many; empty at the end. */
  public List<Name> next(int max) {
    while (ready.size() < max && more) {
      readPage();
    }
    List<Name> names = new ArrayList<>();
    while (names.size() < max && !ready.isEmpty()) {
      names.add(ready.removeFirst());
    }
    return names;
  }

  private void readPage() {
    JournalDirectory.Page page = directory.page(after, PAGE);
    after = page.last();
    more = page.more();
    for (Name name : page.names()) {
      if (!alike.isEmpty() && !isAlike(name)) {
        releaseAlike();
      }
      if (ListPosition.stem(name.requestName()).equals(name.requestName())) {
        ready.add(name);
      } else {
        alike.add(name);
      }
    }
    if (!more) {
      releaseAlike();
    }
  }

  private boolean isAlike(Name name) {
    String stem = ListPosition.stem(name.requestName());
    return !stem.equals(name.requestName())
        && stem.equals(ListPosition.stem(alike.get(0).requestName()));
  }

  /** Long names with the same stem follow each other in the directory. */
  private void releaseAlike() {
    alike.stream()
        .filter(this::isBehindStart)
        .sorted(Comparator.comparing(NameCursor::hash).thenComparing(Name::requestName))
        .forEach(ready::add);
    alike.clear();
  }

  private boolean isBehindStart(Name name) {
    return from == null
        || !from.stem().equals(ListPosition.stem(name.requestName()))
        || hash(name) > from.hash();
  }

  private static int hash(Name name) {
    return ListPosition.hashOf(name.requestName());
  }

  /** Reads a page of names behind a name. */
  interface Pages {
    JournalDirectory.Page page(String after, int max);
  }
}
