package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.encryption.EncryptionType;
import io.cephcsi.driver.encryption.KeyAccess;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.background.ManagerCommands;
import io.cephcsi.driver.rbd.encryption.FileKey;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * What one call works with on a cluster: the connection and its user, pools and their journals, and
 * the work in the background. Lives as long as the call. Safe for several threads.
 */
public final class RbdSession {
  private final RbdSessions sessions;
  private final Lease lease;
  private final Credentials user;

  RbdSession(RbdSessions sessions, Lease lease, Credentials user) {
    this.sessions = sessions;
    this.lease = lease;
    this.user = user;
  }

  /** The connection, which ends with the session. */
  public Lease lease() {
    return lease;
  }

  /** The cluster of the configuration. */
  public String clusterId() {
    return lease.config().clusterId();
  }

  /** How volumes are treated. */
  public RbdSettings settings() {
    return sessions.settings();
  }

  /** Where names and ids are locked. */
  public OperationRegistry operations() {
    return sessions.operations();
  }

  /** Reads many at once. */
  public ParallelReads reads() {
    return new ParallelReads(sessions.executors().reads(Storage.RBD, clusterId()));
  }

  /** Keeps chains of clones short, and snapshots few. */
  public FlattenPolicy bounds() {
    // The work may wait for long: it must not keep this session, which has the secrets of the call.
    ConnectionPool connections = sessions.connections();
    ClusterConfig cluster = lease.config();
    Credentials alone = user.alone();
    return new FlattenPolicy(
        settings().limits(), sessions.flattener(), work -> connections.with(cluster, alone, work));
  }

  /**
   * A pool that the parameters of a class name.
   *
   * @throws VolumeException INVALID_ARGUMENT if the cluster has none of this name
   */
  public IoContext requirePool(String name) {
    try {
      return lease.rbdPool(name);
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.INVALID_ARGUMENT,
          "parameters: cluster \"" + clusterId() + "\" has no pool " + name,
          e);
    }
  }

  /** The pool of an identifier; empty when it is gone, and everything in it. */
  public Optional<IoContext> pool(VolumeId id) {
    try {
      return Optional.of(lease.rbdPool(id.location()));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** The pool of a journal, which is that of the images unless the entry says otherwise. */
  public IoContext journalPool(OptionalLong id, IoContext images) {
    return id.isPresent() ? lease.rbdPool(id.getAsLong()) : images;
  }

  /** The identifier of what is in a pool. */
  public VolumeId id(IoContext io, UUID uuid) {
    return new VolumeId(clusterId(), io.poolId(), uuid);
  }

  /** A pool's journal of its volumes or snapshots. */
  public Journal journal(JournalKind kind, IoContext io) {
    return journal(kind, io, io);
  }

  /** The journal of volumes or snapshots whose names are reserved in another pool. */
  public Journal journal(JournalKind kind, IoContext journalPool, IoContext images) {
    return new Journal(kind, settings().instanceId(), journalPool, images, lease.reservations());
  }

  /** A pool's journal of its groups. */
  public GroupJournal groupJournal(IoContext io) {
    return groupJournal(io, io);
  }

  /** The journal of groups whose names are reserved in another pool. */
  public GroupJournal groupJournal(IoContext journalPool, IoContext io) {
    return new GroupJournal(settings().instanceId(), journalPool, io, lease.reservations());
  }

  /** The keys of what is encrypted. */
  public KeyAccess keys() {
    return new KeyAccess(settings().kms(), user.others());
  }

  /**
   * What opens an encrypted volume or snapshot.
   *
   * @throws VolumeException FAILED_PRECONDITION if its KMS is not configured
   */
  public VolumeKey key(VolumeId id, RbdPool pool, String imageId, JournalEntry entry) {
    return EncryptionType.FILE.isOf(entry)
        ? new FileKey(pool, imageId, keys().fileSecret(id, entry))
        : imageKey(id, pool, imageId, entry);
  }

  /** As {@link #key}, of one whose blocks are encrypted: the passphrase of its image. */
  public ImageKey imageKey(VolumeId id, RbdPool pool, String imageId, JournalEntry entry) {
    return new ImageKey(pool, imageId, keys().requireKms(entry), keys().owner(id, entry.owner()));
  }

  /**
   * A volume that the journal knows; one round trip. One more, in a pool that is not mirrored, if
   * it does not: the image of a volume of another site gets its entry. Its identifier may be that
   * of another site by the cluster mapping.
   */
  public Optional<OpenVolume> find(VolumeId id) {
    return places(id).map(at -> find(id, at)).flatMap(Optional::stream).findFirst();
  }

  /** Where on this cluster an identifier's may be: as it says, then as the cluster mapping says. */
  private Stream<VolumeId> places(VolumeId id) {
    return Stream.concat(Stream.of(id), Stream.of(id).flatMap(this::alternatives));
  }

  private Stream<VolumeId> alternatives(VolumeId id) {
    return sessions.clusters().mapping().alternatives(id).stream()
        .filter(at -> at.clusterId().equals(clusterId()));
  }

  /** Whether an identifier's may be on this cluster, by itself or by the cluster mapping. */
  public boolean mayHave(VolumeId id) {
    return id.clusterId().equals(clusterId()) || alternatives(id).findAny().isPresent();
  }

  /**
   * As {@link #find(VolumeId)}, of a volume that the caller knows by an identifier of another site.
   *
   * @param id the caller's
   * @param at where it is here
   */
  public Optional<OpenVolume> find(VolumeId id, VolumeId at) {
    return pool(at)
        .flatMap(
            io -> {
              RbdPool pool = new RbdPool(io);
              return journal(JournalKind.VOLUME, io)
                  .byUuid(id.uuid())
                  .or(() -> new MirroredEntry(this, pool, id).make())
                  .map(entry -> new OpenVolume(this, id, pool, entry));
            });
  }

  /**
   * A snapshot that the journal knows, complete or not; one round trip. Its identifier may be that
   * of another site by the cluster mapping.
   */
  public Optional<OpenSnapshot> findSnapshot(VolumeId id) {
    return places(id).map(at -> findSnapshot(id, at)).flatMap(Optional::stream).findFirst();
  }

  /**
   * As {@link #findSnapshot(VolumeId)}, of one that the caller knows by an identifier of another
   * site.
   *
   * @param id the caller's
   * @param at where it is here
   */
  public Optional<OpenSnapshot> findSnapshot(VolumeId id, VolumeId at) {
    return pool(at)
        .flatMap(
            io ->
                journal(JournalKind.SNAPSHOT, io)
                    .byUuid(id.uuid())
                    .map(entry -> new OpenSnapshot(this, id, new RbdPool(io), entry)));
  }

  /** Sends commands to the manager. */
  public ManagerCommands managers() {
    return sessions.managers();
  }

  /** Has the trash of a pool looked at, once, for what a driver that died left there. */
  public void visitTrash(IoContext io) {
    sessions.trash().visit(lease.config(), user, io);
  }

  /** Has an image removed from the trash of a pool, soon. */
  public void purge(IoContext io, String imageId) {
    sessions.trash().purge(lease.config(), user, io, imageId);
  }

  /** As {@link #purge}, of an image that perhaps no driver put there, and then stays. */
  public void purgeIfDeleted(IoContext io, String imageId) {
    sessions.trash().purgeIfDeleted(lease.config(), user, io, imageId);
  }
}
