package io.cephcsi.driver.testing;

import io.cephcsi.proto.addons.replication.ControllerGrpc;
import io.cephcsi.proto.addons.replication.DemoteVolumeRequest;
import io.cephcsi.proto.addons.replication.DisableVolumeReplicationRequest;
import io.cephcsi.proto.addons.replication.EnableVolumeReplicationRequest;
import io.cephcsi.proto.addons.replication.GetReplicationDestinationInfoRequest;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoRequest;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoResponse;
import io.cephcsi.proto.addons.replication.PromoteVolumeRequest;
import io.cephcsi.proto.addons.replication.ReplicationSource;
import io.cephcsi.proto.addons.replication.ResyncVolumeRequest;
import java.util.Map;

/**
 * Calls CSI-Addons' replication of a driver.
 *
 * @param stub calls it
 * @param secrets of the calls
 */
@SuppressWarnings("CheckReturnValue") // answers without content
public record TestReplication(
    ControllerGrpc.ControllerBlockingStub stub, Map<String, String> secrets) {
  /** Of a driver, as its provisioning user. */
  public static TestReplication of(TestDriver driver) {
    return new TestReplication(ControllerGrpc.newBlockingStub(driver.channel()), driver.secrets());
  }

  /** The same with other secrets. */
  public TestReplication as(Map<String, String> others) {
    return new TestReplication(stub, others);
  }

  /** A volume as a source. */
  public static ReplicationSource source(String volumeId) {
    return ReplicationSource.newBuilder()
        .setVolume(ReplicationSource.VolumeSource.newBuilder().setVolumeId(volumeId))
        .build();
  }

  /** Enables, with keys and values of parameters. */
  public void enable(String volumeId, Map<String, String> parameters) {
    stub.enableVolumeReplication(
        EnableVolumeReplicationRequest.newBuilder()
            .setReplicationSource(source(volumeId))
            .putAllParameters(parameters)
            .putAllSecrets(secrets)
            .build());
  }

  /** Disables. */
  public void disable(String volumeId, boolean force) {
    stub.disableVolumeReplication(
        DisableVolumeReplicationRequest.newBuilder()
            .setReplicationSource(source(volumeId))
            .putParameters("force", Boolean.toString(force))
            .putAllSecrets(secrets)
            .build());
  }

  /** Promotes. */
  public void promote(String volumeId, boolean force, Map<String, String> parameters) {
    stub.promoteVolume(
        PromoteVolumeRequest.newBuilder()
            .setReplicationSource(source(volumeId))
            .setForce(force)
            .putAllParameters(parameters)
            .putAllSecrets(secrets)
            .build());
  }

  /** Promotes without parameters. */
  public void promote(String volumeId, boolean force) {
    promote(volumeId, force, Map.of());
  }

  /** Demotes. */
  public void demote(String volumeId, boolean force) {
    stub.demoteVolume(
        DemoteVolumeRequest.newBuilder()
            .setReplicationSource(source(volumeId))
            .setForce(force)
            .putAllSecrets(secrets)
            .build());
  }

  /** Resyncs; whether it is ready. */
  public boolean resync(String volumeId, boolean force) {
    return stub.resyncVolume(
            ResyncVolumeRequest.newBuilder()
                .setReplicationSource(source(volumeId))
                .setForce(force)
                .putAllSecrets(secrets)
                .build())
        .getReady();
  }

  /** How far the copies are. */
  public GetVolumeReplicationInfoResponse info(String volumeId) {
    return stub.getVolumeReplicationInfo(
        GetVolumeReplicationInfoRequest.newBuilder()
            .setReplicationSource(source(volumeId))
            .putAllSecrets(secrets)
            .build());
  }

  /** The volume's id on the other site. */
  public String destination(String volumeId) {
    return stub.getReplicationDestinationInfo(
            GetReplicationDestinationInfoRequest.newBuilder()
                .setReplicationSource(source(volumeId))
                .putAllSecrets(secrets)
                .build())
        .getReplicationDestination()
        .getVolume()
        .getVolumeId();
  }
}
