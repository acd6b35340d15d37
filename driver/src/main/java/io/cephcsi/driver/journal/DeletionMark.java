package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The mark of an entry that is being deleted, as volumes have it, see {@link AttachmentJournal}.
 * What a driver that is killed has sent by then may be carried out late: with the mark, no other
 * driver gives the snapshot to a caller in between.
 */
public final class DeletionMark {
  private static final Logger LOG = LoggerFactory.getLogger(DeletionMark.class);

  private final Journal journal;
  private final JournalEntry entry;
  private final byte[] value;

  private DeletionMark(Journal journal, JournalEntry entry) {
    this.journal = journal;
    this.entry = entry;
    this.value = AttachmentJournal.newMark().getBytes(UTF_8);
  }

  /** Marks an entry; one round trip, and nothing happens if the entry is gone. */
  public static DeletionMark set(Journal journal, JournalEntry entry) {
    DeletionMark mark = new DeletionMark(journal, entry);
    mark.write(
        new WriteOperation()
            .assertExists()
            .omapSet(Map.of(AttachmentJournal.DELETING, mark.value)));
    return mark;
  }

  /** Takes the mark back, unless another deletion has set its own; a failure is logged. */
  public void takeBack() {
    try {
      write(
          new WriteOperation()
              .assertExists()
              .omapCompare(AttachmentJournal.DELETING, value)
              .omapRemove(List.of(AttachmentJournal.DELETING)));
    } catch (CephException e) {
      LOG.warn(
          "{} stays marked as being deleted; its deletion ends that: {}",
          entry.requestName(),
          e.getMessage());
    }
  }

  private void write(WriteOperation operation) {
    try (WriteOperation write = operation) {
      journal.write(entry.uuid(), write);
    } catch (CephException.NotFound | CephException.Canceled e) {
      LOG.debug("the entry of {} is gone, or marked by another deletion", entry.requestName());
    }
  }
}
