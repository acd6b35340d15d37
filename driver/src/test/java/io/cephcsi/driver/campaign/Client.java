package io.cephcsi.driver.campaign;

import static io.cephcsi.driver.testing.TestDriver.onlyReader;
import static io.cephcsi.driver.testing.TestDriver.singleWriter;

import com.google.protobuf.Message;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;

/**
 * Makes, changes and deletes volumes and snapshots at random, and remembers what was answered. Used
 * by one thread.
 */
final class Client {
  private static final long MIB = 1L << 20;
  private static final int MOST = 5;

  private final String prefix;
  private final Calls calls;
  private final Storage storage;
  private final Random random;
  private final Map<String, String> secrets;
  private final List<Vol> volumes = new ArrayList<>();
  private final List<Snap> snapshots = new ArrayList<>();
  private int names;

  /** A volume that was answered. */
  private static final class Vol {
    private final CreateVolumeRequest request;
    private final Volume volume;
    private final boolean shallow;
    private long size;
    private String content;

    Vol(CreateVolumeRequest request, Volume volume, boolean shallow, String content) {
      this.request = request;
      this.volume = volume;
      this.shallow = shallow;
      this.size = volume.getCapacityBytes();
      this.content = content;
    }
  }

  /** A snapshot that was answered. */
  private record Snap(
      CreateSnapshotRequest request, Snapshot snapshot, Vol source, String content) {
    String name() {
      return "csi-snap-" + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid();
    }
  }

  Client(String prefix, Calls calls, Storage storage, TestCluster cluster, long seed) {
    this.prefix = prefix;
    this.calls = calls;
    this.storage = storage;
    this.random = new Random(seed);
    this.secrets = TestDriver.secrets(cluster, storage.type());
  }

  /** Goes on until it is told to stop; what a call could not do is told to the tally. */
  void run(BooleanSupplier stop) {
    try {
      while (!stop.getAsBoolean()) {
        step();
      }
    } catch (RuntimeException e) {
      calls.tally().wrong(prefix + ": " + e);
      throw e;
    }
  }

  private void step() {
    boolean files = storage.type() == DriverConfig.Type.CEPHFS;
    switch (random.nextInt(16)) {
      case 0, 1, 2 -> create();
      case 3 -> copy();
      case 4, 5 -> restore();
      case 6 -> show(files);
      case 7, 8 -> snapshot();
      case 9 -> again();
      case 10 -> expand();
      case 11 -> deleteSnapshot();
      case 12, 13 -> deleteVolume();
      case 14 -> reclaimOrList(files);
      default -> groupSnapshot(files);
    }
  }

  private <T> T one(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  private String name() {
    return prefix + "-" + names++;
  }

  private CreateVolumeRequest.Builder request(long bytes) {
    return CreateVolumeRequest.newBuilder()
        .setName(name())
        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
        .addVolumeCapabilities(singleWriter())
        .putAllParameters(storage.parameters())
        .putAllSecrets(secrets);
  }

  private Volume send(CreateVolumeRequest request) {
    return calls.send(
        random,
        "CreateVolume",
        channel -> ControllerGrpc.newBlockingStub(channel).createVolume(request).getVolume());
  }

  private Vol add(CreateVolumeRequest request, boolean shallow, String content) {
    Vol volume = new Vol(request, send(request), shallow, content);
    volumes.add(volume);
    if (volume.size < request.getCapacityRange().getRequiredBytes()) {
      calls.tally().wrong(request.getName() + " is too small: " + volume.size);
    }
    return volume;
  }

  private void create() {
    if (volumes.size() >= MOST) {
      deleteVolume();
      return;
    }
    Vol made = add(request((4 + random.nextInt(12)) * MIB).build(), false, "");
    if (random.nextInt(3) == 0) {
      made.content = made.request.getName();
      write(made);
    }
  }

  /** The faults hold up who writes, too. */
  private void write(Vol volume) {
    Awaitility.await("to write to " + volume.request.getName())
        .atMost(Duration.ofMinutes(2))
        .ignoreExceptionsInstanceOf(CephException.TimedOut.class)
        .until(
            () -> {
              storage.write(volume.volume, volume.content);
              return true;
            });
  }

  private void copy() {
    List<Vol> own = volumes.stream().filter(volume -> !volume.shallow).toList();
    if (own.isEmpty() || volumes.size() >= MOST) {
      return;
    }
    Vol source = one(own);
    add(
        request(source.size)
            .setVolumeContentSource(
                VolumeContentSource.newBuilder()
                    .setVolume(
                        VolumeContentSource.VolumeSource.newBuilder()
                            .setVolumeId(source.volume.getVolumeId())))
            .build(),
        false,
        source.content);
  }

  private CreateVolumeRequest.Builder from(Snap snapshot) {
    return request(snapshot.snapshot.getSizeBytes())
        .setVolumeContentSource(
            VolumeContentSource.newBuilder()
                .setSnapshot(
                    VolumeContentSource.SnapshotSource.newBuilder()
                        .setSnapshotId(snapshot.snapshot.getSnapshotId())));
  }

  private void restore() {
    if (!snapshots.isEmpty() && volumes.size() < MOST) {
      Snap snapshot = one(snapshots);
      add(from(snapshot).build(), false, snapshot.content);
    }
  }

  private void show(boolean files) {
    if (files && !snapshots.isEmpty() && volumes.size() < MOST) {
      Snap snapshot = one(snapshots);
      add(
          from(snapshot).clearVolumeCapabilities().addVolumeCapabilities(onlyReader()).build(),
          true,
          snapshot.content);
    }
  }

  private void snapshot() {
    List<Vol> own = volumes.stream().filter(volume -> !volume.shallow).toList();
    if (own.isEmpty() || snapshots.size() >= MOST) {
      return;
    }
    Vol source = one(own);
    CreateSnapshotRequest request =
        CreateSnapshotRequest.newBuilder()
            .setName(name())
            .setSourceVolumeId(source.volume.getVolumeId())
            .putParameters("clusterID", TestDriver.CLUSTER_ID)
            .putAllSecrets(secrets)
            .build();
    snapshots.add(new Snap(request, send(request), source, source.content));
  }

  private Snapshot send(CreateSnapshotRequest request) {
    return calls.send(
        random,
        "CreateSnapshot",
        channel -> ControllerGrpc.newBlockingStub(channel).createSnapshot(request).getSnapshot());
  }

  /** The same call again has the same answer. */
  private void again() {
    if (!volumes.isEmpty() && random.nextBoolean()) {
      Vol volume = one(volumes);
      if (volume.size == volume.volume.getCapacityBytes()) {
        requireSame(volume.volume, send(volume.request));
      }
    } else if (!snapshots.isEmpty()) {
      Snap snapshot = one(snapshots);
      if (volumes.contains(snapshot.source)) {
        requireSame(snapshot.snapshot, send(snapshot.request));
      }
    }
  }

  private void requireSame(Message before, Message now) {
    if (!before.equals(now)) {
      calls.tally().wrong("first " + before + ", then " + now);
    }
  }

  private void expand() {
    List<Vol> own = volumes.stream().filter(volume -> !volume.shallow).toList();
    if (own.isEmpty()) {
      return;
    }
    Vol volume = one(own);
    long bytes = volume.size + 4 * MIB;
    volume.size =
        calls.send(
            random,
            "ControllerExpandVolume",
            channel ->
                ControllerGrpc.newBlockingStub(channel)
                    .controllerExpandVolume(
                        ControllerExpandVolumeRequest.newBuilder()
                            .setVolumeId(volume.volume.getVolumeId())
                            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
                            .putAllSecrets(secrets)
                            .build())
                    .getCapacityBytes());
    if (volume.size < bytes) {
      calls.tally().wrong(volume.request.getName() + " did not grow");
    }
  }

  private void deleteVolume() {
    if (!volumes.isEmpty()) {
      Vol volume = one(volumes);
      delete(volume);
      volumes.remove(volume);
    }
  }

  private void delete(Vol volume) {
    calls.send(
        random,
        "DeleteVolume",
        channel ->
            ControllerGrpc.newBlockingStub(channel)
                .deleteVolume(
                    DeleteVolumeRequest.newBuilder()
                        .setVolumeId(volume.volume.getVolumeId())
                        .putAllSecrets(secrets)
                        .build()));
  }

  private void deleteSnapshot() {
    if (!snapshots.isEmpty()) {
      Snap snapshot = one(snapshots);
      delete(snapshot);
      snapshots.remove(snapshot);
    }
  }

  private void delete(Snap snapshot) {
    calls.send(
        random,
        "DeleteSnapshot",
        channel ->
            ControllerGrpc.newBlockingStub(channel)
                .deleteSnapshot(
                    DeleteSnapshotRequest.newBuilder()
                        .setSnapshotId(snapshot.snapshot.getSnapshotId())
                        .putAllSecrets(secrets)
                        .build()));
  }

  private void reclaimOrList(boolean files) {
    if (files || volumes.isEmpty() || random.nextInt(3) == 0) {
      list();
      return;
    }
    Vol volume = one(volumes);
    calls.send(
        random,
        "ControllerReclaimSpace",
        channel ->
            ReclaimSpaceControllerGrpc.newBlockingStub(channel)
                .controllerReclaimSpace(
                    ControllerReclaimSpaceRequest.newBuilder()
                        .setVolumeId(volume.volume.getVolumeId())
                        .putAllSecrets(secrets)
                        .build()));
  }

  private void list() {
    Set<String> listed = new HashSet<>();
    calls
        .send(
            random,
            "ListVolumes",
            channel ->
                ControllerGrpc.newBlockingStub(channel)
                    .listVolumes(ListVolumesRequest.getDefaultInstance()))
        .getEntriesList()
        .forEach(entry -> listed.add(entry.getVolume().getVolumeId()));
    for (Vol volume : volumes) {
      if (!listed.contains(volume.volume.getVolumeId())) {
        calls.tally().wrong(volume.volume.getVolumeId() + " is not listed");
      }
    }
  }

  /** Of two volumes; deleted in the same step. */
  private void groupSnapshot(boolean files) {
    if (files || volumes.size() < 2) {
      return;
    }
    CreateVolumeGroupSnapshotRequest request =
        CreateVolumeGroupSnapshotRequest.newBuilder()
            .setName(name())
            .addSourceVolumeIds(volumes.get(0).volume.getVolumeId())
            .addSourceVolumeIds(volumes.get(1).volume.getVolumeId())
            .putParameters("clusterID", TestDriver.CLUSTER_ID)
            .putAllSecrets(secrets)
            .build();
    VolumeGroupSnapshot taken = send(request);
    requireSame(taken, send(request));
    calls.send(
        random,
        "DeleteVolumeGroupSnapshot",
        channel ->
            GroupControllerGrpc.newBlockingStub(channel)
                .deleteVolumeGroupSnapshot(
                    DeleteVolumeGroupSnapshotRequest.newBuilder()
                        .setGroupSnapshotId(taken.getGroupSnapshotId())
                        .addAllSnapshotIds(
                            taken.getSnapshotsList().stream().map(Snapshot::getSnapshotId).toList())
                        .putAllSecrets(secrets)
                        .build()));
  }

  private VolumeGroupSnapshot send(CreateVolumeGroupSnapshotRequest request) {
    return calls.send(
        random,
        "CreateVolumeGroupSnapshot",
        channel ->
            GroupControllerGrpc.newBlockingStub(channel)
                .createVolumeGroupSnapshot(request)
                .getGroupSnapshot());
  }

  /** The names of what must be on the storage. */
  Set<String> expected() {
    Set<String> names = new TreeSet<>();
    volumes.stream()
        .filter(volume -> !volume.shallow)
        .forEach(volume -> names.add(storage.name(volume.volume)));
    for (Snap snapshot : snapshots) {
      names.add(
          storage.type() == DriverConfig.Type.RBD
              ? snapshot.name()
              : storage.name(snapshot.source.volume) + "@" + snapshot.name());
    }
    return names;
  }

  /** Compares sizes and contents with what was answered. */
  void compare() {
    for (Vol volume : volumes) {
      if (volume.shallow) {
        continue;
      }
      String name = volume.request.getName();
      try {
        String content = storage.read(volume.volume);
        if (!content.equals(volume.content)) {
          calls.tally().wrong(name + " has the content \"" + content + "\", not " + volume.content);
        }
        long size = storage.size(volume.volume);
        if (size != volume.size) {
          calls.tally().wrong(name + " has " + size + " bytes, not " + volume.size);
        }
      } catch (RuntimeException e) {
        calls.tally().wrong(name + " cannot be read: " + e);
      }
    }
  }

  /** Deletes all. */
  void deleteAll() {
    snapshots.forEach(this::delete);
    volumes.forEach(this::delete);
    snapshots.clear();
    volumes.clear();
  }

  /** How many volumes and snapshots there are. */
  int size() {
    return volumes.size() + snapshots.size();
  }
}
