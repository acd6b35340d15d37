package io.cephcsi.driver.rbd.volume;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.image.ImageSizes;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.session.StaticImage;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Volumes as RBD images. All calls block on the cluster and may be repeated after a crash at any
 * point; the caller holds the lock of the name or the id. Safe for several threads.
 */
public final class RbdVolumes {
  private static final Logger LOG = LoggerFactory.getLogger(RbdVolumes.class);

  /** Pools that could not be asked a moment ago: each call would wait for them. */
  private final Cache<String, Boolean> silent =
      Caffeine.newBuilder().maximumSize(1000).expireAfterWrite(Duration.ofMinutes(1)).build();

  private final RbdSessions sessions;
  private final ImageGroups groups;

  /**
   * @param sessions of the calls
   * @param groups takes images out of groups
   */
  public RbdVolumes(RbdSessions sessions, ImageGroups groups) {
    this.sessions = sessions;
    this.groups = groups;
  }

  /**
   * Makes a volume, or gives the one that the name has.
   *
   * @throws VolumeException ALREADY_EXISTS if that does not fit the request
   */
  public CreatedVolume create(VolumeRequest request, Credentials user) {
    request.validate();
    ClusterConfig cluster = sessions.clusters().require(request.parameters().clusterId());
    return sessions.in(
        cluster,
        user,
        session -> new VolumeCreation(session, inItsPool(session, request), groups).run());
  }

  /**
   * Where topology chose, a name that has an image keeps its pool: the retry of a call may prefer
   * another one. One round trip, for such a StorageClass only; for a name that is new, one more for
   * each other pool that would do, as ceph-csi reserves the name in the pool that it chose.
   */
  private VolumeRequest inItsPool(RbdSession session, VolumeRequest request) {
    RbdParameters wanted = request.parameters();
    if (wanted.topology().isEmpty()) {
      return request;
    }
    List<RbdParameters> choices =
        Stream.concat(Stream.of(wanted), wanted.alternatives().stream()).toList();
    OptionalLong pool = imagePool(session, wanted.journalPool(), request);
    Stream<RbdParameters> found =
        pool.isPresent()
            ? choices.stream().filter(choice -> isPool(session, choice, pool))
            : choices.stream()
                .filter(choice -> !choice.pool().equals(wanted.journalPool()))
                .filter(choice -> isInItself(session, choice, request, wanted.pool()))
                .map(RbdParameters::inOwnJournal);
    return found.findFirst().map(request::with).orElse(request);
  }

  /**
   * A pool that cannot be asked matters only if the image is to be in it: the outage of a zone must
   * not keep others from volumes, and ceph-csi does not look into another pool, either.
   */
  private boolean isInItself(
      RbdSession session, RbdParameters choice, VolumeRequest request, String wanted) {
    String pool = session.clusterId() + "/" + choice.pool();
    boolean isOther = !choice.pool().equals(wanted);
    if (isOther && silent.getIfPresent(pool) != null) {
      return false;
    }
    try {
      return isPool(session, choice, imagePool(session, choice.pool(), request));
    } catch (VolumeException e) {
      if (!isOther || e.reason() != Reason.INVALID_ARGUMENT) {
        throw e;
      }
      return false; // there is no such pool
    } catch (CephException.Denied | CephException.TimedOut e) {
      if (!isOther) {
        throw e;
      }
      LOG.warn("pool {} cannot be asked for {}: {}", pool, request.name(), e.getMessage());
      silent.put(pool, true);
      return false;
    }
  }

  private static OptionalLong imagePool(
      RbdSession session, String journalPool, VolumeRequest request) {
    IoContext io = session.requirePool(journalPool);
    return session.journal(JournalKind.VOLUME, io).imagePoolOf(request.name());
  }

  private static boolean isPool(RbdSession session, RbdParameters choice, OptionalLong pool) {
    return pool.isPresent() && session.requirePool(choice.pool()).poolId() == pool.getAsLong();
  }

  /**
   * Deletes a volume: its image goes to the trash and is purged from there, then the journal entry
   * goes. A volume that does not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials user) {
    // A call that died behind the journal left its image in the trash, and its retry nothing else
    // to go by.
    sessions.ifPresent(id, user, RbdSession::visitTrash, this::delete);
  }

  /** Deletes a volume that Kubernetes' in-tree plugin made, as {@link #delete}. */
  public void delete(StaticImage image, Credentials user) {
    sessions.in(
        sessions.clusters().require(image.clusterId()),
        user,
        session -> {
          new MigratedDeletion(session, image).run();
          return null;
        });
  }

  private void delete(OpenVolume volume) {
    try (VolumeDeletion deletion = new VolumeDeletion(volume, groups)) {
      deletion.run();
    }
  }

  /**
   * Grows a volume; never shrinks it.
   *
   * @return the size afterwards, in bytes
   */
  public long expand(VolumeId id, CapacityRange capacity, Credentials credentials) {
    return sessions.with(id, credentials, volume -> expand(volume.image(), capacity));
  }

  /** As {@link #expand(VolumeId, CapacityRange, Credentials)}, of an image that no driver made. */
  public long expand(StaticImage image, CapacityRange capacity, Credentials credentials) {
    return sessions.with(image, credentials, open -> expand(open, capacity));
  }

  private static long expand(OpenImage open, CapacityRange capacity) {
    long current;
    String imageId;
    try (RbdImage image = open.openReadOnly()) {
      current = image.size();
      imageId = image.id();
    }
    if (capacity.limit() > 0 && current > capacity.limit()) {
      throw new VolumeException(
          Reason.OUT_OF_RANGE,
          "volume " + open.volumeId() + " has " + current + " bytes, more than limit_bytes allows");
    }
    long size = current >= capacity.required() ? current : capacity.sizeToCreate();
    if (size > current) {
      try (RbdImage image = open.open()) {
        ImageSizes.require(size, image.layout().objectSize());
        image.resize(size, false, Progress.NONE);
      }
    }
    QosRules.apply(open, imageId, Map.of(), () -> size); // also where a former call died
    return size;
  }

  /**
   * Changes what can be changed of a volume.
   *
   * @throws VolumeException NOT_FOUND if it does not exist
   */
  public void modify(VolumeId id, MutableParameters parameters, Credentials credentials) {
    sessions.with(
        id,
        credentials,
        volume -> {
          parameters.applyTo(volume.image());
          return null;
        });
  }

  /**
   * The size of a volume, in bytes.
   *
   * @throws VolumeException NOT_FOUND if it does not exist
   */
  public long size(VolumeId id, Credentials credentials) {
    return sessions.with(
        id,
        credentials,
        volume -> {
          try (RbdImage image = volume.openReadOnly()) {
            return image.size();
          }
        });
  }

  /**
   * Requires that an image that no driver made exists; one round trip.
   *
   * @throws VolumeException as of {@link RbdSessions#with(StaticImage, Credentials, Function)}
   */
  public void require(StaticImage image, Credentials credentials) {
    sessions.with(
        image,
        credentials,
        open -> {
          open.require();
          return null;
        });
  }
}
