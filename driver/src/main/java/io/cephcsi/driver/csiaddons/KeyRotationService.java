package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.node.rbd.KeyRotation;
import io.cephcsi.driver.operation.NodeKeys;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateRequest;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateResponse;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationControllerGrpc.EncryptionKeyRotationControllerImplBase;
import io.grpc.stub.StreamObserver;

/** CSI-Addons EncryptionKeyRotation for RBD on a node: decode, lock, call, encode. */
public final class KeyRotationService extends EncryptionKeyRotationControllerImplBase {
  private final Rotation rotation;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  /** As {@link KeyRotation#rotate}. */
  public interface Rotation {
    /** Gives a volume another passphrase; blocks. */
    void rotate(VolumeId id, Credentials user, Operation operation);
  }

  /**
   * @param rotation does the work
   * @param operations locks volumes on this node
   * @param executors run what blocks
   */
  public KeyRotationService(
      Rotation rotation, OperationRegistry operations, ClusterExecutors executors) {
    this.rotation = rotation;
    this.operations = operations;
    this.executors = executors;
  }

  @Override
  public void encryptionKeyRotate(
      EncryptionKeyRotateRequest request, StreamObserver<EncryptionKeyRotateResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          String volume = Requests.required(request.getVolumeId(), "volume_id");
          if (!request.getEncryptionKey().isEmpty()) {
            throw VolumeException.invalid(
                "encryption_key is not supported: the driver makes the new passphrase");
          }
          VolumeId id =
              VolumeId.parse(volume)
                  .orElseThrow(
                      () ->
                          VolumeException.notFound(
                              "volume "
                                  + volume
                                  + " does not exist: this is no id of this driver"));
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return operations.startKept(
              NodeKeys.volume(volume),
              "EncryptionKeyRotate",
              "", // nothing of the request changes what is done
              answer::callerGone,
              executors.longWork(id.clusterId()),
              operation -> {
                rotation.rotate(id, user, operation);
                return EncryptionKeyRotateResponse.getDefaultInstance();
              });
        });
  }
}
