package io.cephcsi.benchmarks;

import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import java.util.Map;

/**
 * The calls of a controller that make and delete.
 *
 * @param storage RBD or CephFS
 * @param controller the driver
 * @param parameters of the StorageClass
 * @param secrets of each call
 */
record ControllerCalls(
    String storage,
    ControllerBlockingStub controller,
    Map<String, String> parameters,
    Map<String, String> secrets) {
  private static final long BYTES = 64L << 20;

  static ControllerCalls cephFs(DriverState driver) {
    return new ControllerCalls(
        "CephFS",
        ControllerGrpc.newBlockingStub(driver.cephFs),
        driver.cephFsParameters,
        driver.secrets);
  }

  static ControllerCalls rbd(DriverState driver) {
    return new ControllerCalls(
        "RBD", ControllerGrpc.newBlockingStub(driver.channel), driver.parameters, driver.secrets);
  }

  /** Makes a volume; for readers of a snapshot, unless that is empty: of CephFS it is shallow. */
  String create(String name, String snapshot) {
    CreateVolumeRequest.Builder request =
        CreateVolumeRequest.newBuilder()
            .setName(name)
            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(BYTES))
            .addVolumeCapabilities(
                VolumeCapability.newBuilder()
                    .setMount(VolumeCapability.MountVolume.getDefaultInstance())
                    .setAccessMode(
                        VolumeCapability.AccessMode.newBuilder()
                            .setMode(
                                snapshot.isEmpty()
                                    ? Mode.SINGLE_NODE_WRITER
                                    : Mode.MULTI_NODE_READER_ONLY)))
            .putAllParameters(parameters)
            .putAllSecrets(secrets);
    if (!snapshot.isEmpty()) {
      request.setVolumeContentSource(
          VolumeContentSource.newBuilder()
              .setSnapshot(
                  VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(snapshot)));
    }
    return controller.createVolume(request.build()).getVolume().getVolumeId();
  }

  String snapshot(String volume, String name) {
    return controller
        .createSnapshot(
            CreateSnapshotRequest.newBuilder()
                .setSourceVolumeId(volume)
                .setName(name)
                .putParameters("clusterID", parameters.getOrDefault("clusterID", ""))
                .putAllSecrets(secrets)
                .build())
        .getSnapshot()
        .getSnapshotId();
  }

  void delete(String volume) {
    require(
        controller
            .deleteVolume(
                DeleteVolumeRequest.newBuilder().setVolumeId(volume).putAllSecrets(secrets).build())
            .isInitialized());
  }

  void deleteSnapshot(String snapshot) {
    require(
        controller
            .deleteSnapshot(
                DeleteSnapshotRequest.newBuilder()
                    .setSnapshotId(snapshot)
                    .putAllSecrets(secrets)
                    .build())
            .isInitialized());
  }

  private static void require(boolean answered) {
    if (!answered) {
      throw new IllegalStateException("no answer");
    }
  }
}
