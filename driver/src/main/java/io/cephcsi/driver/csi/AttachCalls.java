package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.StaticVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeResponse;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The controller's calls that change how a volume is used: decode, lock, call, encode. */
final class AttachCalls {
  private final SecretlessBackend own;
  private final ControllerBackend backend;
  private final OperationRegistry operations;

  AttachCalls(SecretlessBackend own, ControllerBackend backend, OperationRegistry operations) {
    this.own = own;
    this.backend = backend;
    this.operations = operations;
  }

  CompletableFuture<ControllerPublishVolumeResponse> publish(
      ControllerPublishVolumeRequest request) {
    required(request.getVolumeId(), "volume_id");
    required(request.getNodeId(), "node_id");
    if (!request.hasVolumeCapability()) {
      throw VolumeException.invalid("volume_capability is required");
    }
    VolumeCapabilities.requireComplete(List.of(request.getVolumeCapability()));
    backend
        .unsupported(List.of(request.getVolumeCapability()), true)
        .ifPresent(
            reason -> {
              throw VolumeException.invalid("volume_capability: " + reason);
            });
    Optional<StaticVolume> staticVolume =
        StaticVolume.of(request.getVolumeId(), request.getVolumeContextMap());
    if (staticVolume.isPresent()) {
      return publish(request, staticVolume.get());
    }
    VolumeId id = Requests.volumeId(request.getVolumeId());
    Attachment wanted =
        new Attachment(
            request.getNodeId(),
            request.getReadonly(),
            request.getVolumeCapability().getAccessMode().getMode().name(),
            request.getVolumeCapability().hasBlock() ? "block" : "mount");
    Credentials user = own.access().credentials(id, request.getSecretsMap());
    return operations.startInTurn(
        own.attachments().key(id),
        onNode(id.toString(), request.getNodeId()),
        "ControllerPublishVolume",
        backend.executor(id.clusterId()),
        operation -> {
          requireAttaching(id.clusterId());
          own.attachments().attach(id, wanted, user);
          return ControllerPublishVolumeResponse.getDefaultInstance();
        });
  }

  /** Of a volume that no driver made there is no journal in which a node could be written down. */
  private CompletableFuture<ControllerPublishVolumeResponse> publish(
      ControllerPublishVolumeRequest request, StaticVolume volume) {
    Credentials user =
        request.getSecretsMap().isEmpty()
            ? own.access().credentials(volume.clusterId(), request.getSecretsMap())
            : Credentials.fromUserSecrets(request.getSecretsMap());
    return operations.startInTurn(
        volume.handle(),
        onNode(volume.handle(), request.getNodeId()),
        "ControllerPublishVolume",
        backend.executor(volume.clusterId()),
        operation -> {
          requireAttaching(volume.clusterId());
          backend.require(volume, user);
          return ControllerPublishVolumeResponse.getDefaultInstance();
        });
  }

  CompletableFuture<ControllerUnpublishVolumeResponse> unpublish(
      ControllerUnpublishVolumeRequest request) {
    Optional<VolumeId> parsed = VolumeId.parse(required(request.getVolumeId(), "volume_id"));
    ControllerUnpublishVolumeResponse done = ControllerUnpublishVolumeResponse.getDefaultInstance();
    if (parsed.isEmpty()) {
      return CompletableFuture.completedFuture(done); // no such volume can be anywhere
    }
    VolumeId id = parsed.get();
    own.access().requireHolding(id);
    Credentials user = own.access().credentials(id, request.getSecretsMap());
    return operations.startInTurn(
        own.attachments().key(id),
        onNode(id.toString(), request.getNodeId()),
        "ControllerUnpublishVolume",
        backend.executor(id.clusterId()),
        operation -> {
          requireAttaching(id.clusterId());
          own.attachments().detach(id, request.getNodeId(), user);
          return done;
        });
  }

  /** Pods on many nodes begin at once: the calls for one volume wait for each other. */
  private static String onNode(String volumeId, String nodeId) {
    return "volume " + volumeId + " for " + (nodeId.isEmpty() ? "all nodes" : "node " + nodeId);
  }

  private void requireAttaching(String clusterId) {
    if (!own.attaches(clusterId)) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED,
          "PUBLISH_UNPUBLISH_VOLUME is not advertised: no node plugin has registered");
    }
  }

  CompletableFuture<ControllerModifyVolumeResponse> modify(ControllerModifyVolumeRequest request) {
    required(request.getVolumeId(), "volume_id");
    if (request.getMutableParametersCount() == 0) {
      throw VolumeException.invalid("mutable_parameters is required");
    }
    ControllerBackend.Modification modification =
        backend.modification(request.getMutableParametersMap());
    VolumeId id = Requests.volumeId(request.getVolumeId());
    Credentials user = own.access().credentials(id, request.getSecretsMap());
    return operations.start(
        id.toString(),
        "ControllerModifyVolume",
        backend.executor(id.clusterId()),
        operation -> {
          modification.apply(id, user);
          return ControllerModifyVolumeResponse.getDefaultInstance();
        });
  }
}
