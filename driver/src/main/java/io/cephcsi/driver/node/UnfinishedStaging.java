package io.cephcsi.driver.node;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a NodeStageVolume fails that leaves something on the node. After most status codes kubelet
 * takes the volume for not staged, and never sends NodeUnstageVolume.
 */
public final class UnfinishedStaging {
  private static final Logger LOG = LoggerFactory.getLogger(UnfinishedStaging.class);

  /** After these kubelet takes the volume for staged, perhaps. */
  private static final Set<Reason> UNCERTAIN =
      EnumSet.of(
          Reason.UNAVAILABLE, Reason.ABORTED, Reason.RESOURCE_EXHAUSTED, Reason.DEADLINE_EXCEEDED);

  /** What is wrong with the request itself, whatever is on the node. */
  private static final Set<Reason> OF_REQUEST =
      EnumSet.of(Reason.INVALID_ARGUMENT, Reason.ALREADY_EXISTS);

  private UnfinishedStaging() {}

  /**
   * Stages a volume. However early the work fails, a call before it may have left something: one
   * that died, after which kubelet is not sure.
   *
   * @param isLeft whether NodeUnstageVolume would find something to take away
   * @throws VolumeException as {@link #error}, when something is left, unless the request is wrong
   */
  public static void attempt(Runnable work, BooleanSupplier isLeft) {
    try {
      work.run();
    } catch (RuntimeException e) {
      boolean ofRequest = e instanceof VolumeException known && OF_REQUEST.contains(known.reason());
      if (!ofRequest && isLeft.getAsBoolean()) {
        throw error(e);
      }
      throw e;
    }
  }

  /**
   * Works on a volume that is staged, and stays so when the work fails.
   *
   * @throws VolumeException as {@link #error}
   */
  public static void keep(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException e) {
      throw error(e);
    }
  }

  /**
   * Works on what this call has staged, and takes that away when the work fails.
   *
   * @throws VolumeException as {@link #error}, when it cannot be taken away
   */
  public static void orUndo(Runnable work, Runnable undo) {
    try {
      work.run();
    } catch (RuntimeException e) {
      try {
        undo.run();
      } catch (RuntimeException left) {
        e.addSuppressed(left);
        throw error(e);
      }
      throw e;
    }
  }

  /**
   * UNAVAILABLE with the message of an error, or the error itself if kubelet unstages after it. One
   * that nobody foresaw is logged.
   */
  public static VolumeException error(RuntimeException e) {
    if (!(e instanceof VolumeException
        || e instanceof CephException
        || e instanceof CommandException)) {
      LOG.error("unexpected failure of a staging", e);
    }
    return e instanceof VolumeException known && UNCERTAIN.contains(known.reason())
        ? known
        : new VolumeException(
            Reason.UNAVAILABLE,
            e.getMessage() + "; what was staged stays until NodeUnstageVolume",
            e);
  }
}
