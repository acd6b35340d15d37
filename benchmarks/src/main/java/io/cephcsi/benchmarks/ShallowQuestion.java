package io.cephcsi.benchmarks;

import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/** Does a shallow volume cost more when the snapshot has hundreds of them? */
final class ShallowQuestion implements Question {
  private static final String FIRST = "the first ones";
  private static final int WARM = 40;

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    DriverState driver = new DriverState();
    driver.start(setup.conf(), true);
    try {
      return measure(setup, new Calls(driver));
    } finally {
      driver.stop();
    }
  }

  private static List<Finding> measure(BenchSetup setup, Calls calls)
      throws IOException, InterruptedException {
    int volumes = setup.scaled(500, 150);
    int part = volumes / 5;
    String source = calls.create("bench-" + UUID.randomUUID(), "");
    String snapshot = calls.snapshot(source);
    for (int i = 0; i < WARM; i++) {
      calls.delete(calls.create("bench-" + UUID.randomUUID(), snapshot));
    }
    double[] create = new double[volumes];
    double[] delete = new double[volumes];
    List<String> made = new ArrayList<>();
    for (int i = 0; i < volumes; i++) {
      create[i] =
          1e3 * setup.seconds(() -> made.add(calls.create("bench-" + UUID.randomUUID(), snapshot)));
    }
    for (int i = 0; i < volumes; i++) {
      String volume = made.get(volumes - 1 - i); // the first deletion has all others beside it
      delete[i] = 1e3 * setup.seconds(() -> calls.delete(volume));
    }
    calls.deleteSnapshot(snapshot);
    calls.delete(source);
    String number = " of " + volumes;
    return List.of(
        Finding.time(
                "shallow-create",
                "making the last shallow volumes" + number,
                "ms",
                Arrays.copyOfRange(create, volumes - part, volumes))
            .beside(FIRST, Arrays.copyOf(create, part)),
        Finding.time(
                "shallow-delete",
                "deleting one while there are all" + number,
                "ms",
                Arrays.copyOf(delete, part))
            .beside("the last ones", Arrays.copyOfRange(delete, volumes - part, volumes)));
  }

  /** The calls of a CephFS driver. */
  private record Calls(DriverState driver, ControllerBlockingStub controller) {
    Calls(DriverState driver) {
      this(driver, ControllerGrpc.newBlockingStub(driver.cephFs));
    }

    /** A volume; of a snapshot, unless that is empty. */
    String create(String name, String snapshot) {
      CreateVolumeRequest.Builder request =
          CreateVolumeRequest.newBuilder()
              .setName(name)
              .addVolumeCapabilities(
                  VolumeCapability.newBuilder()
                      .setMount(VolumeCapability.MountVolume.getDefaultInstance())
                      .setAccessMode(
                          VolumeCapability.AccessMode.newBuilder()
                              .setMode(
                                  snapshot.isEmpty()
                                      ? Mode.MULTI_NODE_MULTI_WRITER
                                      : Mode.MULTI_NODE_READER_ONLY)))
              .putAllParameters(driver.cephFsParameters)
              .putAllSecrets(driver.secrets);
      if (!snapshot.isEmpty()) {
        request.setVolumeContentSource(
            VolumeContentSource.newBuilder()
                .setSnapshot(
                    VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(snapshot)));
      }
      return controller.createVolume(request.build()).getVolume().getVolumeId();
    }

    String snapshot(String volume) {
      return controller
          .createSnapshot(
              CreateSnapshotRequest.newBuilder()
                  .setSourceVolumeId(volume)
                  .setName("bench-" + UUID.randomUUID())
                  .putParameters("clusterID", driver.cephFsParameters.get("clusterID"))
                  .putAllSecrets(driver.secrets)
                  .build())
          .getSnapshot()
          .getSnapshotId();
    }

    void delete(String volume) {
      require(
          controller
              .deleteVolume(
                  DeleteVolumeRequest.newBuilder()
                      .setVolumeId(volume)
                      .putAllSecrets(driver.secrets)
                      .build())
              .isInitialized());
    }

    void deleteSnapshot(String snapshot) {
      require(
          controller
              .deleteSnapshot(
                  DeleteSnapshotRequest.newBuilder()
                      .setSnapshotId(snapshot)
                      .putAllSecrets(driver.secrets)
                      .build())
              .isInitialized());
    }

    private static void require(boolean answered) {
      if (!answered) {
        throw new IllegalStateException("no answer");
      }
    }
  }
}
