package io.cephcsi.driver.rbd.mirror;

import com.github.benmanes.caffeine.cache.Ticker;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.MirrorMode;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.PoolMirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.ReplicationTarget;
import io.cephcsi.driver.rbd.image.EntryRecord;
import io.cephcsi.driver.rbd.image.FollowingCopy;
import io.cephcsi.driver.rbd.parameters.ReplicationParameters;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Duration;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Mirrors volumes to another cluster, by librbd; the daemons rbd-mirror copy. All calls block on
 * the cluster and may be repeated after a crash at any point; the caller holds the lock of the id.
 * Safe for several threads.
 *
 * <p>All calls throw {@link VolumeException} NOT_FOUND if the volume does not exist.
 */
public final class RbdReplication {
  private static final Logger LOG = LoggerFactory.getLogger(RbdReplication.class);

  private final RbdSessions sessions;
  private final Duration longestPromotion;
  private final Duration demotionNoticed;
  private final RefusedPromotions refused;

  /**
   * @param sessions of the calls
   * @param longestPromotion how long a promotion may take that is forced
   * @param demotionNoticed after how long each daemon has noticed that an image was demoted
   */
  public RbdReplication(RbdSessions sessions, Duration longestPromotion, Duration demotionNoticed) {
    this(
        sessions,
        longestPromotion,
        demotionNoticed,
        new RefusedPromotions(demotionNoticed, Ticker.systemTicker()));
  }

  RbdReplication(
      RbdSessions sessions,
      Duration longestPromotion,
      Duration demotionNoticed,
      RefusedPromotions refused) {
    this.sessions = sessions;
    this.longestPromotion = longestPromotion;
    this.demotionNoticed = demotionNoticed;
    this.refused = refused;
  }

  /**
   * Begins to mirror a volume, as the primary.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is mirrored in another mode, its pool is not
   *     mirrored image by image, or its parent is not mirrored; ABORTED while it is flattened, or
   *     its mirroring begins or ends
   */
  public void enable(VolumeId id, ReplicationParameters parameters, Credentials user) {
    sessions.with(
        id,
        user,
        volume -> {
          Enabling enabling = look(volume, parameters);
          if (!enabling.mirrored() || !enabling.recorded()) {
            enable(volume, parameters.mode(), enabling);
          }
          return null;
        });
  }

  /**
   * How far it is.
   *
   * @param mirrored whether the image is mirrored
   * @param recorded whether its metadata say what its journal entry says, which are mirrored with
   *     it
   */
  private record Enabling(boolean mirrored, boolean recorded) {}

  private static Enabling look(OpenVolume volume, ReplicationParameters parameters) {
    try (RbdImage image = volume.openReadOnly()) {
      Optional<MirrorInfo> info = image.mirroring();
      if (info.isEmpty()) {
        ParentRule.require(volume, image, parameters.flatten());
        return new Enabling(false, isRecorded(volume, image));
      }
      MirroredImage.requireSettled(volume, info.get());
      MirrorMode mode = image.mirror().mode();
      if (mode != parameters.mode()) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "volume "
                + volume.id()
                + " is mirrored in the mode "
                + mode
                + ", not "
                + parameters.mode()
                + ": disable that before");
      }
      return new Enabling(true, !info.get().primary() || isRecorded(volume, image));
    }
  }

  private static boolean isRecorded(OpenVolume volume, RbdImage image) {
    String record = EntryRecord.of(volume.entry()).toJson();
    return image.metadata().get(EntryRecord.KEY).filter(record::equals).isPresent();
  }

  /** The metadata come before, so that the first copy has them. */
  private static void enable(OpenVolume volume, MirrorMode mode, Enabling enabling) {
    try (RbdImage image = volume.open()) {
      if (!enabling.recorded()) {
        image.metadata().set(EntryRecord.KEY, EntryRecord.of(volume.entry()).toJson());
      }
      if (!enabling.mirrored()) {
        image.mirror().enable(mode);
        LOG.info("volume {} is mirrored in the mode {}", volume.id(), mode);
      }
    } catch (CephException e) {
      if (e.errno() != Errno.EINVAL) {
        throw e;
      }
      PoolMirrorMode ofPool = volume.pool().mirrorMode();
      if (ofPool != PoolMirrorMode.IMAGE) {
        throw notByImage(volume, ofPool, "does not mirror volume " + volume.id(), e);
      }
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "librbd does not mirror volume "
              + volume.id()
              + " in the mode "
              + mode
              + " ("
              + e.getMessage()
              + ")",
          e);
    }
  }

  /**
   * Ends the mirroring of a volume. A copy that follows its primary is left alone: its daemon
   * removes it when the mirroring of the primary ends. Not if that is forced while no daemon of
   * another site runs: then the primary may be lost. Of an encrypted volume see {@link
   * SharedKeyNote}.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is a copy that follows no primary, unless the
   *     parameters force it, if clones of it are mirrored, or if its pool is not mirrored image by
   *     image; ABORTED if it has not ended yet
   */
  public void disable(VolumeId id, ReplicationParameters parameters, Credentials user) {
    refused.forget(id); // what is mirrored again is refused anew
    sessions.with(
        id,
        user,
        volume -> {
          if (mustBeDisabled(volume, parameters.force())) {
            disable(volume, parameters.force());
          }
          return null;
        });
  }

  private static boolean mustBeDisabled(OpenVolume volume, boolean force) {
    try (RbdImage image = volume.openReadOnly()) {
      Optional<MirrorInfo> info = image.mirroring();
      if (info.isEmpty()) {
        return false;
      }
      if (info.get().state() == MirrorInfo.State.CREATING) {
        MirroredImage.requireSettled(volume, info.get());
      }
      if (info.get().state() == MirrorInfo.State.DISABLING || info.get().primary()) {
        return true; // what was interrupted goes on
      }
      MirrorStatus status = image.mirror().status();
      if (force ? FollowingCopy.hasLivingPrimary(status) : FollowingCopy.is(status)) {
        return false;
      }
      if (!force) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "volume "
                + volume.id()
                + " is a copy that follows no primary (the daemon of this site is "
                + status.local().map(MirrorSite::show).orElse("not known")
                + "): promote it before, or force it (parameters: force), which makes it an"
                + " ordinary volume");
      }
      return true;
    }
  }

  private static void disable(OpenVolume volume, boolean force) {
    try (RbdImage image = volume.open()) {
      SharedKeyNote.writeIfNeeded(volume, image);
      image.mirror().disable(force);
      if (image.mirroring().isPresent()) {
        throw new VolumeException(
            Reason.ABORTED, "the mirroring of volume " + volume.id() + " is being ended");
      }
      LOG.info("volume {} is not mirrored any more", volume.id());
    } catch (CephException.Busy e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "clones of volume " + volume.id() + " are mirrored: disable them before",
          e);
    } catch (CephException e) {
      if (e.errno() != Errno.EINVAL) {
        throw e;
      }
      PoolMirrorMode ofPool = volume.pool().mirrorMode();
      if (ofPool != PoolMirrorMode.IMAGE) {
        throw notByImage(volume, ofPool, "does not end the mirroring of volume " + volume.id(), e);
      }
      throw new VolumeException(
          Reason.ABORTED,
          "the mirroring of volume " + volume.id() + " is being changed by another client",
          e);
    }
  }

  private static VolumeException notByImage(
      OpenVolume volume, PoolMirrorMode ofPool, String what, CephException e) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "librbd "
            + what
            + ": the mode of the pool "
            + volume.pool().io().pool()
            + " is "
            + ofPool
            + ", and must be IMAGE (rbd mirror pool enable) ("
            + e.getMessage()
            + ")",
        e);
  }

  /**
   * Makes a volume the primary, and gives it its schedule.
   *
   * @param force also while another site has the primary: what that wrote since the last copy is
   *     not there then
   * @throws VolumeException INVALID_ARGUMENT if it is not mirrored; FAILED_PRECONDITION if another
   *     site has the primary and only force helps; ABORTED if the other site's is demoted or may
   *     be, and what it wrote before is still to be copied, when a forced promotion does not end,
   *     and instead of any other FAILED_PRECONDITION of one that is not forced
   */
  public void promote(
      VolumeId id, boolean force, ReplicationParameters parameters, Credentials user) {
    Optional<VolumeException> refusal;
    try {
      refusal = sessions.with(id, user, volume -> promote(volume, force, parameters));
    } catch (VolumeException | CephException e) {
      throw force ? e : RefusedPromotions.notToBeForced(e);
    }
    refusal.ifPresent(
        e -> {
          throw e;
        });
  }

  private Optional<VolumeException> promote(
      OpenVolume volume, boolean force, ReplicationParameters parameters) {
    Optional<VolumeException> refusal =
        isWritablePrimary(volume) && !Promotion.isMarked(volume) // a demotion may come late
            ? Optional.empty()
            : new Promotion(volume, longestPromotion, refused).run(force);
    if (refusal.isEmpty()) {
      refused.forget(volume.id());
      parameters
          .schedule()
          .ifPresent(
              schedule ->
                  new MirrorSchedules(
                          volume.session().managers(), volume.pool().io(), volume.imageName())
                      .require(schedule));
    }
    return refusal;
  }

  private static boolean isWritablePrimary(OpenVolume volume) {
    try (RbdImage image = volume.openReadOnly()) {
      return MirroredImage.isPrimary(volume, image) && MirroredImage.isWritable(image);
    }
  }

  /**
   * Makes the primary a copy, so that another site's can be promoted.
   *
   * @param force also while clients have it open, while it is published, and if another site does
   *     not follow it. Clients by librbd lose the right to write; a device of the kernel does not,
   *     and must be fenced before
   * @throws VolumeException FAILED_PRECONDITION if it is not mirrored, published to nodes or in
   *     use, or if no other site has followed it since it became the primary, of a pool that has
   *     peers; ABORTED while a promotion that was given up may still be carried out
   */
  public void demote(VolumeId id, boolean force, Credentials user) {
    refused.forget(id);
    sessions.with(
        id,
        user,
        volume -> {
          new Demotion(volume, force, demotionNoticed).run();
          return null;
        });
  }

  /**
   * Has a copy that followed another history copied anew, if it must, and tells whether it is as
   * the other site's.
   *
   * @param force whether the copy may be thrown away
   * @return whether both sites have the same, and neither is the primary
   * @throws VolumeException as of {@link Resynchronization}
   */
  public boolean resync(VolumeId id, boolean force, Credentials user) {
    return sessions.with(id, user, volume -> new Resynchronization(volume, force).run());
  }

  /**
   * How far the copies of a primary are.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is no primary; NOT_FOUND while no time of a
   *     copy is known
   */
  public ReplicationInfo info(VolumeId id, Credentials user) {
    return sessions.with(
        id,
        user,
        volume -> {
          MirrorStatus status = MirroredImage.status(volume);
          if (!MirroredImage.require(volume, status.info()).primary()) {
            throw new VolumeException(
                Reason.FAILED_PRECONDITION,
                "volume " + id + " is a copy here: ask the site that has the primary");
          }
          return ReplicationInfo.of("volume " + id, status);
        });
  }

  /**
   * What a volume is called on the other site. One that is encrypted keeps its id, which its
   * passphrase is bound to.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is not mirrored; UNAVAILABLE while the other
   *     site's image is not known
   */
  public VolumeId destination(VolumeId id, Credentials user) {
    return sessions.with(
        id,
        user,
        volume -> {
          MirrorStatus status = MirroredImage.status(volume);
          MirroredImage.require(volume, status.info());
          if (status.remote().isEmpty()) {
            throw new VolumeException(
                Reason.UNAVAILABLE, "no other site has volume " + id + " yet; try again later");
          }
          if (volume.entry().isEncrypted()) {
            return id; // by which its passphrase is kept
          }
          Optional<ReplicationTarget> target = volume.lease().config().replication();
          return target
              .map(
                  other ->
                      new VolumeId(
                          other.clusterId(),
                          other.poolIds().getOrDefault(volume.pool().io().pool(), id.location()),
                          id.uuid()))
              .orElse(id);
        });
  }
}
