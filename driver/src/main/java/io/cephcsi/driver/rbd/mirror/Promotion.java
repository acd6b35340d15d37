package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ApartConnection;
import io.cephcsi.driver.cluster.ClientFence;
import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.cluster.WorkerLock;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes a copy the primary. Used by one thread; blocks on the cluster. */
final class Promotion {
  private static final Logger LOG = LoggerFactory.getLogger(Promotion.class);

  private static final Duration SHUT_OUT = Duration.ofHours(1);
  private static final Duration PAUSE = Duration.ofSeconds(5);

  /** The lock's name, on the header of the image; Ceph and ceph-csi do not look at it. */
  private static final String LOCK = "csi.java.promotion";

  private static final String WORK = "promote"; // for people who list the lock

  private final OpenVolume volume;
  private final Duration longest;
  private final RefusedPromotions refused;

  /**
   * @param longest how long a forced promotion may take
   * @param refused decides how one fails that needs force
   */
  Promotion(OpenVolume volume, Duration longest, RefusedPromotions refused) {
    this.volume = volume;
    this.longest = longest;
    this.refused = refused;
  }

  /**
   * Promotes, unless it is the primary; no other driver does so meanwhile.
   *
   * @return why it must be forced, or waited for
   * @throws VolumeException ABORTED when a forced one does not end, or another driver promotes it;
   *     FAILED_PRECONDITION when there is no complete copy that librbd goes back to
   */
  Optional<VolumeException> run(boolean force) {
    if (force) {
      runForced();
      return Optional.empty();
    }
    IoContext io = volume.pool().io();
    try (WorkerLock work = lock(volume, io, WORK)) {
      return work.call(
          () -> {
            Found found = look(io);
            return found == Found.PRIMARY ? Optional.empty() : runUnforced(work, found);
          });
    }
  }

  /** What the image is. */
  private enum Found {
    PRIMARY,
    COPY,
    /** It was the primary until now, and was demoted here. */
    DEMOTED_NOW
  }

  /**
   * The lock of promotions and demotions. A driver that was stopped in one must not go on after
   * another one's.
   *
   * @param io of the client that does the work
   * @param what is done: {@code promote} or {@code demote}
   * @throws VolumeException ABORTED while a call that was given up may be carried out; as of {@link
   *     WorkerLock#begin}
   */
  static WorkerLock lock(OpenVolume volume, IoContext io, String what) {
    requireAnswers(volume); // else its mark would be taken for one that has ended
    return WorkerLock.begin(io, header(volume), LOCK, what, "volume " + volume.id(), false);
  }

  private static String header(OpenVolume volume) {
    return ImageHeader.object(volume.imageId());
  }

  /** Whether a promotion or demotion is under way, or its driver was stopped. One round trip. */
  static boolean isMarked(OpenVolume volume) {
    return WorkerLock.isMarked(volume.pool().io(), header(volume));
  }

  /**
   * Requires that no call on the image of this process was given up and may still be carried out.
   *
   * @throws VolumeException ABORTED while one may
   */
  static void requireAnswers(OpenVolume volume) {
    try {
      volume.pool().requireAnswers(volume.imageId());
    } catch (CephException.OwnerSilent e) {
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + volume.id()
              + ": a call on its image that was given up, such as a promotion or a demotion, may"
              + " still be carried out ("
              + e.getMessage()
              + ")",
          e);
    }
  }

  /** What it is; a step of another client that was cut off is undone. */
  private Found look(IoContext io) {
    try (RbdImage image = volume.openReadOnly()) {
      if (!MirroredImage.isPrimary(volume, image)) {
        return Found.COPY;
      }
      if (MirroredImage.isWritable(image)) {
        return Found.PRIMARY;
      }
    }
    // librbd changes the snapshot and the feature in two writes. Another client's demotion may be
    // between them, so that the feature is not just taken away.
    LOG.warn("volume {}: a promotion or demotion was cut off; demoting it first", volume.id());
    try (RbdImage image = new RbdPool(io).open(volume.imageName())) {
      image.mirror().demote();
    }
    return Found.DEMOTED_NOW;
  }

  private Optional<VolumeException> runUnforced(WorkerLock work, Found found) {
    try (RbdImage image = volume.open()) {
      MirrorSnapshots snapshots = MirrorSnapshots.of(volume.pool().io(), image.id());
      if (snapshots.neverComplete()) {
        return Optional.of(
            new VolumeException(
                Reason.ABORTED,
                "volume " + volume.id() + " is being copied for the first time; try again"));
      }
      if (snapshots.endsInHalfDemotion()) {
        return Optional.of(
            new VolumeException(
                Reason.ABORTED,
                "volume "
                    + volume.id()
                    + ": what the other site wrote before it was demoted is copied in part; it can be"
                    + " promoted when the rest is copied. If the daemon here does not copy it, promote"
                    + " the other site again"));
      }
      if (found == Found.COPY) { // else nobody can have promoted another one
        Optional<VolumeException> refusal = refused.check(volume.id(), image.mirror().status());
        if (refusal.isPresent()) {
          return refusal;
        }
      }
      work.require();
      image.mirror().promote(false);
      LOG.info("volume {} is promoted", volume.id());
      return Optional.empty();
    } catch (CephException.Busy e) {
      return Optional.of(refused.refuse(volume.id(), MirroredImage.status(volume), e));
    } catch (CephException e) {
      throw e.errno() == Errno.EROFS ? notNow(e) : e; // the daemon has just changed the image
    }
  }

  /**
   * Makes sure that librbd makes no image the primary that is copied in part.
   *
   * @return the time of the last complete copy; empty when it is not known, or librbd goes back
   *     further
   */
  private Optional<Instant> prepareForced(IoContext io) {
    MirrorStatus status;
    String imageId;
    try (RbdImage image = volume.openReadOnly()) {
      status = image.mirror().status();
      imageId = image.id();
    }
    MirrorSnapshots snapshots = MirrorSnapshots.of(io, imageId);
    if (snapshots.neverComplete()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + volume.id() + " was never copied completely: there is nothing to promote");
    }
    Optional<HeaderSnapshot> wayBack = snapshots.wayBack();
    if (wayBack.filter(to -> isEmptied(imageId, to)).isPresent()) {
      throw MirrorSnapshots.noWayBack("it would go back to before the first copy, with no data");
    }
    if (CutPromotion.reopen(io, imageId, snapshots)) {
      LOG.warn("volume {}: a forced promotion was cut off; going back once more", volume.id());
    }
    if (wayBack.isPresent()) {
      LOG.warn(
          "volume {}: its newest copy is not complete; librbd goes back to the one before the last"
              + " complete copy",
          volume.id());
      return Optional.empty();
    }
    return status.local().flatMap(site -> SyncReport.of(site.description()).snapshot());
  }

  /** Whether an image that has data had none at a snapshot, as far as object maps tell. */
  private boolean isEmptied(String imageId, HeaderSnapshot snapshot) {
    return new UsageMeter(volume.pool())
        .objectMap(imageId)
        .filter(now -> now.existing() > 0)
        .flatMap(now -> ObjectMap.read(volume.pool().io(), imageId, snapshot.id(), now.objects()))
        .filter(then -> then.existing() == 0)
        .isPresent();
  }

  /**
   * While the other cluster does not answer, the site's daemon may keep the image for ever, and
   * librbd waits as long. Then the connection, which nobody else has, is blocklisted, which ends
   * the call.
   */
  private void runForced() {
    ApartConnection apart = volume.lease().connectApart(Map.of());
    String address = apart.cluster().addresses();
    ClientFence fence = new ClientFence(volume.lease().cluster());
    PromotionLimit limit =
        new PromotionLimit(
            volume.id(),
            this::isKeptByDaemon,
            () -> fence.blocklist(address, SHUT_OUT),
            longest,
            PAUSE);
    try (limit;
        apart;
        IoContext io =
            apart
                .cluster()
                .openPool(volume.pool().io().pool(), volume.pool().io().namespace())
                .tryWhenFull();
        WorkerLock work = lock(volume, io, WORK)) {
      work.run(
          () -> {
            if (look(io) != Found.PRIMARY) {
              force(io, work);
            }
          });
    } catch (CephException.Blocklisted e) {
      if (!limit.isOver()) {
        throw notNow(e); // another driver took the promotion over
      }
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + volume.id()
              + ": its promotion did not end within "
              + longest
              + ": the daemon rbd-mirror of this site does not give the image away; restart it, or"
              + " try again",
          e);
    } catch (CephException e) {
      throw e.errno() == Errno.EBUSY || e.errno() == Errno.EROFS ? notNow(e) : e;
    }
  }

  private void force(IoContext io, WorkerLock work) {
    Optional<Instant> copied = prepareForced(io);
    try (RbdImage image = new RbdPool(io).open(volume.imageName())) {
      work.require();
      LongStep.run(() -> image.mirror().promote(true));
    }
    LOG.warn(
        "volume {}: its promotion was forced; what another site wrote {} is not here",
        volume.id(),
        copied.map(time -> "since " + time).orElse("since that copy"));
  }

  private VolumeException notNow(CephException e) {
    return new VolumeException(
        Reason.ABORTED, "volume " + volume.id() + " cannot be promoted now; try again", e);
  }

  /**
   * Whether librbd waits for a daemon of this site; if that is not known, it does. It has the lock
   * of the image meanwhile, too.
   */
  private boolean isKeptByDaemon() {
    try (RbdImage image = volume.openReadOnly()) { // which does not watch it
      return image.watchers().size() > 1; // one is the client that promotes
    } catch (CephException | VolumeException e) {
      return true;
    }
  }
}
