package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.List;
import java.util.UUID;

/**
 * Whether a driver restored the image of a native snapshot from the trash, recorded in the journal
 * entry. After a crash only an image that a driver restored is moved back to the trash, and none
 * that an administrator restored.
 *
 * <pre>
 *   (absent)   no driver works on it
 *   true       it is being restored or moved back; who restored it is not known
 *   restored   a driver restored it, and none has begun to move it back
 * </pre>
 *
 * <p>Earlier versions know {@code true} only. All methods take one round trip and throw {@link
 * CephException.NotFound} if there is no entry, unless they say otherwise. Safe for several
 * threads.
 *
 * @param pool of the entry
 * @param uuid of the entry
 */
public record TrashRestoreState(IoContext pool, UUID uuid) {
  static final String KEY = "csi.java.outoftrash";
  static final String RESTORED = "restored";

  private static final byte[] MOVING = "true".getBytes(UTF_8);

  /** Records that the image is about to be restored. */
  public void begin() {
    try (WriteOperation write = new WriteOperation()) {
      operate(write.assertExists().omapSet(KEY, MOVING));
    }
  }

  /** Records that this driver has restored it. */
  public void restored() {
    try (WriteOperation write = new WriteOperation()) {
      operate(write.assertExists().omapSet(KEY, RESTORED.getBytes(UTF_8)));
    }
  }

  /**
   * Claims the right to move it back to the trash, which one driver gets for each restore.
   *
   * @return whether this one has it; false also without an entry
   */
  public boolean claim() {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(KEY, RESTORED.getBytes(UTF_8));
      operate(write.omapSet(KEY, MOVING));
      return true;
    } catch (CephException.Canceled | CephException.NotFound e) {
      return false;
    }
  }

  /** Records that no driver works on it any more, unless another driver has restored it since. */
  public void end() {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(KEY, MOVING);
      operate(write.omapRemove(List.of(KEY)));
    } catch (CephException.Canceled e) {
      // another driver's, which ends it
    }
  }

  private void operate(WriteOperation write) {
    pool.operate(JournalKind.SNAPSHOT.object(uuid), write);
  }
}
