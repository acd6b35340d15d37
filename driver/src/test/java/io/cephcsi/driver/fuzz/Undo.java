package io.cephcsi.driver.fuzz;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.cephcsi.driver.grpc.MethodCatalog;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotResponse;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.NodeUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/** Undoes all that was done, as a CO does at the end: at once, or when it is asked again. */
final class Undo {
  private static final Duration LONGEST = Duration.ofSeconds(100); // a call that hangs shows itself

  private record Call(String method, Message request) {}

  private final Map<String, String> secrets;
  private final ConcurrentLinkedQueue<Call> targets = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Call> stagings = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Call> attachments = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Call> groups = new ConcurrentLinkedQueue<>();
  private final List<String> failures = new ArrayList<>();

  Undo(Map<String, String> secrets) {
    this.secrets = secrets;
  }

  /** Notes what undoes a call that succeeded; volumes and snapshots are listed at the end. */
  void remember(String method, Message request, List<Message> answers) {
    switch (method) {
      case "NodePublishVolume" -> targets.add(unpublish(request));
      case "NodeStageVolume" -> stagings.add(unstage(request));
      case "ControllerPublishVolume" -> attachments.add(detach(request));
      case "CreateVolumeGroup" ->
          groups.add(
              deleteGroup(FuzzedDriver.text(answers.get(0), "volume_group.volume_group_id")));
      case "CreateVolumeGroupSnapshot" -> groups.add(deleteGroupSnapshot(answers.get(0)));
      default -> {}
    }
  }

  private static Call unpublish(Message request) {
    return new Call(
        "csi.v1.Node/NodeUnpublishVolume",
        NodeUnpublishVolumeRequest.newBuilder()
            .setVolumeId(FuzzedDriver.text(request, "volume_id"))
            .setTargetPath(FuzzedDriver.text(request, "target_path"))
            .build());
  }

  private static Call unstage(Message request) {
    return new Call(
        "csi.v1.Node/NodeUnstageVolume",
        NodeUnstageVolumeRequest.newBuilder()
            .setVolumeId(FuzzedDriver.text(request, "volume_id"))
            .setStagingTargetPath(FuzzedDriver.text(request, "staging_target_path"))
            .build());
  }

  private Call detach(Message request) {
    return new Call(
        "csi.v1.Controller/ControllerUnpublishVolume",
        ControllerUnpublishVolumeRequest.newBuilder()
            .setVolumeId(FuzzedDriver.text(request, "volume_id"))
            .setNodeId(FuzzedDriver.text(request, "node_id"))
            .putAllSecrets(secrets)
            .build());
  }

  private Call deleteGroup(String id) {
    return new Call(
        "volumegroup.Controller/DeleteVolumeGroup",
        DeleteVolumeGroupRequest.newBuilder().setVolumeGroupId(id).putAllSecrets(secrets).build());
  }

  private Call deleteGroupSnapshot(Message answer) {
    try {
      VolumeGroupSnapshot made =
          CreateVolumeGroupSnapshotResponse.parseFrom(answer.toByteString()).getGroupSnapshot();
      return new Call(
          "csi.v1.GroupController/DeleteVolumeGroupSnapshot",
          DeleteVolumeGroupSnapshotRequest.newBuilder()
              .setGroupSnapshotId(made.getGroupSnapshotId())
              .addAllSnapshotIds(
                  made.getSnapshotsList().stream().map(Snapshot::getSnapshotId).toList())
              .putAllSecrets(secrets)
              .build());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Deletes a volume. */
  Message deleteVolume(String id) {
    return DeleteVolumeRequest.newBuilder().setVolumeId(id).putAllSecrets(secrets).build();
  }

  /** Deletes a snapshot. */
  Message deleteSnapshot(String id) {
    return DeleteSnapshotRequest.newBuilder().setSnapshotId(id).putAllSecrets(secrets).build();
  }

  /**
   * Undoes all of it.
   *
   * @return the calls that do not succeed, with the last answer
   */
  List<String> run(FuzzedDriver driver) {
    targets.forEach(call -> await(driver, call));
    stagings.forEach(call -> await(driver, call));
    attachments.forEach(call -> await(driver, call));
    groups.forEach(call -> await(driver, call));
    var controller = ControllerGrpc.newBlockingStub(driver.channel());
    controller
        .withDeadlineAfter(FuzzedDriver.HANG, TimeUnit.SECONDS)
        .listSnapshots(ListSnapshotsRequest.newBuilder().putAllSecrets(secrets).build())
        .getEntriesList()
        .forEach(
            listed ->
                await(
                    driver,
                    new Call(
                        ServiceFuzzIT.DELETE_SNAPSHOT,
                        deleteSnapshot(listed.getSnapshot().getSnapshotId()))));
    controller
        .withDeadlineAfter(FuzzedDriver.HANG, TimeUnit.SECONDS)
        .listVolumes(ListVolumesRequest.getDefaultInstance())
        .getEntriesList()
        .forEach(
            listed ->
                await(
                    driver,
                    new Call(
                        ServiceFuzzIT.DELETE_VOLUME,
                        deleteVolume(listed.getVolume().getVolumeId()))));
    return List.copyOf(failures);
  }

  private void await(FuzzedDriver driver, Call call) {
    Status[] last = {Status.OK};
    try {
      Awaitility.await()
          .atMost(LONGEST)
          .until(
              () -> {
                last[0] = driver.call(MethodCatalog.find(call.method()), call.request()).status();
                return last[0].isOk();
              });
    } catch (ConditionTimeoutException e) {
      failures.add(call.method() + " " + last[0] + "\n" + call.request());
    }
  }
}
