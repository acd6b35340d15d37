package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.LateReservation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One attempt to make the volume or snapshot that a name is reserved for. An incomplete entry has
 * the number of its attempt; the write that completes the entry asserts and removes it:
 *
 * <pre>
 *   csi.java.maker   → the attempt's number; others-[number] in an entry that another program made;
 *                      [number]-given-up when the attempt failed and removes its entry
 * </pre>
 *
 * <p>An attempt that finds an incomplete entry does not know whether the other attempt is dead or
 * slow. It replaces the number. From then on the former attempt can neither complete nor undo the
 * entry, however long it was stopped. So only the attempt that made an image records it. An attempt
 * that reads the id of the image of the entry's name, and finds <em>after that</em> that the entry
 * {@linkplain #mayDiscard may still be} its own, knows that the image can never be recorded: it was
 * made by this attempt or by an earlier one.
 *
 * <p>Used by one thread; the calls block on the cluster.
 */
public final class Attempt {
  private static final Logger LOG = LoggerFactory.getLogger(Attempt.class);
  private static final byte[] ABSENT = {};
  private static final String FROM_OTHERS = "others-";
  private static final String GIVEN_UP = LateReservation.GIVEN_UP;
  private static final int TAKEOVERS = 5;

  private final Journal journal;
  private final JournalEntry entry;
  private final String number;

  Attempt(Journal journal, JournalEntry entry, String number) {
    this.journal = journal;
    this.entry = entry;
    this.number = number;
  }

  /** As {@link Journal#begin}. */
  static Attempt begin(
      Journal journal, String requestName, ClusterNames names, Map<String, String> attributes) {
    String number = UUID.randomUUID().toString();
    Map<String, String> numbered = new LinkedHashMap<>(attributes);
    numbered.put(JournalEntry.MAKER, number);
    return begin(
            journal,
            requestName,
            number,
            () -> Optional.of(journal.reserve(requestName, names, numbered)))
        .orElseThrow();
  }

  /** As {@link Journal#resume}. */
  static Optional<Attempt> resume(Journal journal, String requestName) {
    return begin(
        journal, requestName, UUID.randomUUID().toString(), () -> journal.findOrFree(requestName));
  }

  private static Optional<Attempt> begin(
      Journal journal, String requestName, String number, Supplier<Optional<JournalEntry>> find) {
    for (int i = 0; i < TAKEOVERS; i++) {
      Optional<JournalEntry> found = find.get();
      if (found.isEmpty()) {
        return Optional.empty();
      }
      JournalEntry entry = found.get();
      if (entry.isMade()
          || AttachmentJournal.isBeingDeleted(entry)
          || entry.maker().equals(Optional.of(number))) {
        return Optional.of(new Attempt(journal, entry, number));
      }
      Optional<Attempt> next = takeOver(journal, entry, number);
      if (next.isPresent()) {
        return next;
      }
    }
    throw new VolumeException(
        Reason.ABORTED, "other drivers are making " + requestName + "; try again");
  }

  /**
   * Replaces the attempt of an incomplete entry. The number keeps that another program made the
   * entry: an attempt that fails must not make the image look like one of this driver's.
   *
   * @return empty if the entry has changed
   * @throws VolumeException FAILED_PRECONDITION for a name that no driver gives: what attempts left
   *     is removed by it
   */
  static Optional<Attempt> takeOver(Journal journal, JournalEntry entry, String random) {
    entry.requireOwnName();
    byte[] former = entry.maker().map(maker -> maker.getBytes(UTF_8)).orElse(ABSENT);
    boolean fromOthers = entry.maker().map(maker -> maker.startsWith(FROM_OTHERS)).orElse(true);
    String number = fromOthers ? FROM_OTHERS + random : random;
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(JournalEntry.MAKER, former);
      write.omapCompare(JournalEntry.IMAGE_ID, ABSENT);
      write.omapCompare(JournalEntry.NATIVE_SNAPSHOT, ABSENT);
      write.omapCompare(AttachmentJournal.DELETING, ABSENT);
      write.omapSet(JournalEntry.MAKER, number.getBytes(UTF_8));
      journal.write(entry.uuid(), write);
      return Optional.of(new Attempt(journal, entry, number));
    } catch (CephException.Canceled | CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** What was found, or reserved: its keys are those from before this attempt. */
  public JournalEntry entry() {
    return entry;
  }

  /** Whether the entry is in a pool. */
  public boolean isIn(IoContext pool) {
    return journal.isIn(pool);
  }

  /** Whether another pool has no entry of the same uuid; one round trip. */
  public boolean isUnknownTo(IoContext pool) {
    return !journal.isKnownIn(pool, entry.uuid());
  }

  /** The journal of the entry. */
  public Journal journal() {
    return journal;
  }

  /**
   * Whether the entry was reserved by a program that numbers no attempts, such as ceph-csi, which
   * may not have recorded an image that is in use; however many attempts there were since.
   */
  public boolean isOfOtherProgram() {
    return number.startsWith(FROM_OTHERS);
  }

  /**
   * Whether no later attempt can still complete the entry: there is none, or it gave up; one round
   * trip. What is removed then must have been found before.
   */
  public boolean mayDiscard() {
    return journal
        .byUuid(entry.uuid())
        .map(now -> !now.isMade() && now.maker().filter(this::isOwnOrUnowned).isPresent())
        .orElse(true); // undone or deleted: nobody can complete it
  }

  private boolean isOwnOrUnowned(String maker) {
    return maker.equals(number) || maker.endsWith(GIVEN_UP);
  }

  /**
   * Whether an attempt makes what an entry stands for, or died at that: nobody has got it. Another
   * program may have given away what it did not record.
   */
  public static boolean isUnderWay(JournalEntry entry) {
    return !entry.isMade() && entry.maker().filter(m -> !m.startsWith(FROM_OTHERS)).isPresent();
  }

  /** Whether an attempt has given an entry up, so that none can complete it. */
  static boolean isGivenUp(JournalEntry entry) {
    return !entry.isMade() && entry.maker().filter(maker -> maker.endsWith(GIVEN_UP)).isPresent();
  }

  /**
   * As {@link #mayDiscard}.
   *
   * @throws VolumeException ABORTED if not
   */
  public void requireNotReplaced() {
    if (!mayDiscard()) {
      throw lost();
    }
  }

  /**
   * Whether an image that this attempt made, and can no longer record, is in use or may come into
   * use: it was recorded, or a later attempt takes it for one that another program made. One round
   * trip.
   */
  public boolean mayBeKept(String imageId) {
    return journal
        .byUuid(entry.uuid())
        .filter(now -> now.imageId().map(imageId::equals).orElse(isOfOtherProgram()))
        .isPresent();
  }

  /**
   * Records what is made; one round trip.
   *
   * @throws VolumeException ABORTED if another attempt has replaced this one
   */
  public void complete(Map<String, String> attributes) {
    try (WriteOperation write = assertOwner()) {
      write.omapSet(EntryAttributes.bytes(attributes));
      journal.write(entry.uuid(), write.omapRemove(List.of(JournalEntry.MAKER)));
    } catch (CephException.Canceled | CephException.NotFound e) {
      throw lost();
    }
  }

  /** As {@link #complete}, with the id of the image that was made. */
  public void completeImage(String imageId) {
    complete(Map.of(JournalEntry.IMAGE_ID, imageId));
  }

  /**
   * As {@link #complete}, of a snapshot that was taken and stays on its volume's image.
   *
   * @param imageId the id of that image, which may have another one than when the name was reserved
   */
  public void completeNative(long snapshotId, String imageId) {
    complete(
        Map.of(
            JournalEntry.NATIVE_SNAPSHOT,
            Long.toString(snapshotId),
            JournalEntry.NATIVE_IMAGE,
            imageId));
  }

  /**
   * Records what it is to be made from; one round trip.
   *
   * @param contentSource an identifier; empty for nothing
   * @throws VolumeException ABORTED if another attempt has replaced this one
   */
  public void recordSource(Optional<String> contentSource) {
    try (WriteOperation write = assertOwner()) {
      if (contentSource.isPresent()) {
        write.omapSet(JournalEntry.CONTENT_SOURCE, contentSource.get().getBytes(UTF_8));
      } else {
        write.omapRemove(List.of(JournalEntry.CONTENT_SOURCE));
      }
      journal.write(entry.uuid(), write);
    } catch (CephException.Canceled | CephException.NotFound e) {
      throw lost();
    }
  }

  /**
   * Undoes the reservation, as a deletion does: it is marked first, so that no other attempt
   * continues it, and the next call that finds the mark completes the undo. If the object were
   * removed before the name, another attempt could create it again in between, and lose the name to
   * this one. Three round trips.
   *
   * @param cleanUp removes what attempts made, once more. An attempt that this one replaced may
   *     have made something since: if it read the entry before it was given up, it left the removal
   *     to this one; otherwise it removes it itself. Not for an entry of another program, which
   *     does not read the mark, and may use what it made.
   * @throws VolumeException ABORTED if another attempt has replaced this one
   */
  public void undo(Runnable cleanUp) {
    boolean ours = !isOfOtherProgram();
    try (WriteOperation write = assertOwner()) {
      byte[] mark = AttachmentJournal.newMark().getBytes(UTF_8);
      write.omapSet(Map.of(AttachmentJournal.DELETING, mark));
      if (ours) {
        write.omapSet(Map.of(JournalEntry.MAKER, (number + GIVEN_UP).getBytes(UTF_8)));
      }
      journal.write(entry.uuid(), write);
    } catch (CephException.Canceled e) {
      throw lost();
    } catch (CephException.NotFound e) {
      LOG.debug("journal entry {} is gone already", entry.uuid());
      return; // who removed it frees the name
    }
    if (ours) {
      cleanUp.run();
    }
    journal.remove(entry);
  }

  /** Another program records its image without a look at the number, and deletes without one. */
  private WriteOperation assertOwner() {
    return new WriteOperation()
        .assertExists()
        .omapCompare(JournalEntry.MAKER, number.getBytes(UTF_8))
        .omapCompare(JournalEntry.IMAGE_ID, ABSENT)
        .omapCompare(AttachmentJournal.DELETING, ABSENT);
  }

  /**
   * Records that an entry has another image in place of the one that was recorded; one round trip.
   *
   * @throws VolumeException ABORTED if the entry has changed
   */
  public static void replaceImageId(Journal journal, JournalEntry entry, String imageId) {
    replace(
        journal,
        entry,
        Map.of(JournalEntry.IMAGE_ID, entry.imageId().orElseThrow()),
        Map.of(JournalEntry.IMAGE_ID, imageId));
  }

  /**
   * Records that a native snapshot is on another image than the one that was recorded, with another
   * id; one round trip.
   *
   * @param now the entry with both
   * @throws VolumeException ABORTED if the entry has changed
   */
  public static void replaceNative(Journal journal, JournalEntry entry, JournalEntry now) {
    replace(journal, entry, nativeIds(entry), nativeIds(now));
  }

  private static Map<String, String> nativeIds(JournalEntry entry) {
    return Map.of(
        JournalEntry.NATIVE_IMAGE,
        entry.nativeImage().orElseThrow(),
        JournalEntry.NATIVE_SNAPSHOT,
        Long.toString(entry.nativeSnapshot().orElseThrow()));
  }

  private static void replace(
      Journal journal, JournalEntry entry, Map<String, String> recorded, Map<String, String> now) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      recorded.forEach((key, value) -> write.omapCompare(key, value.getBytes(UTF_8)));
      write.omapSet(EntryAttributes.bytes(now));
      journal.write(entry.uuid(), write);
    } catch (CephException.Canceled | CephException.NotFound e) {
      throw new VolumeException(
          Reason.ABORTED, entry.requestName() + " is changed by another driver; try again", e);
    }
  }

  private VolumeException lost() {
    return new VolumeException(
        Reason.ABORTED,
        entry.requestName() + " is being made by another driver, or is deleted; try again");
  }
}
