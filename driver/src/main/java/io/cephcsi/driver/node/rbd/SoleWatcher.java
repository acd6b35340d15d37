package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.cls.MirrorDaemons;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.Watcher;
import io.cephcsi.driver.node.machine.Polling;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.reclaim.FormerReclaim;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.List;

/**
 * An image that is about to be attached, opened for writing and watched by nobody else: a reclaim
 * that runs sees the watch and gives way, and none begins. Without this the first write of the new
 * device would meet the reclaim's lock and fail.
 */
final class SoleWatcher implements AutoCloseable {
  /** A reclaim stops within one object. */
  private static final Duration GIVES_WAY = Duration.ofSeconds(20);

  /** Several nodes may have it open: then the only other one may be a reclaim, or not. */
  private static final Duration ONE_OTHER = Duration.ofSeconds(5);

  private final RbdImage image;

  private SoleWatcher(RbdImage image) {
    this.image = image;
  }

  /**
   * Opens the image and waits until nobody else has it open.
   *
   * @param shared whether other nodes may have it open, too: then it is waited for one only, and
   *     not long
   * @throws VolumeException FAILED_PRECONDITION when others have it open and may not
   */
  static SoleWatcher take(OpenImage volume, boolean shared, Operation operation) {
    SoleWatcher claim = new SoleWatcher(volume.open());
    try {
      claim.await(volume, shared, operation);
      return claim;
    } catch (RuntimeException e) {
      claim.close();
      throw e;
    }
  }

  private void await(OpenImage volume, boolean shared, Operation operation) {
    RadosCluster cluster = volume.lease().cluster();
    List<Watcher> others = others(cluster.instanceId());
    if (shared && others.size() > 1) {
      return;
    }
    if (!others.isEmpty() && !awaitOther(volume, shared, operation, cluster.instanceId())) {
      return;
    }
    FormerReclaim.shutOut(image, cluster); // one that is not seen may go on after its blocklisting
  }

  /** Whether the others closed the image; false only if they may keep it open. */
  private boolean awaitOther(
      OpenImage volume, boolean shared, Operation operation, long ourClientId) {
    operation.phase("waiting for others to close the image");
    boolean alone =
        Polling.until(shared ? ONE_OTHER : GIVES_WAY, () -> others(ourClientId).isEmpty());
    if (!alone && !shared) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volume.volumeId()
              + " is in use on another node: its image is open at "
              + others(ourClientId).stream().map(Watcher::address).findFirst().orElse("?"));
    }
    return alone;
  }

  private List<Watcher> others(long ourClientId) {
    return MirrorDaemons.users(image).stream().filter(w -> w.clientId() != ourClientId).toList();
  }

  /** The image. */
  RbdImage image() {
    return image;
  }

  @Override
  public void close() {
    image.close();
  }
}
