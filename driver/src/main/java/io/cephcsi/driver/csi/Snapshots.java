package io.cephcsi.driver.csi;

import com.google.protobuf.Timestamp;
import io.cephcsi.driver.volume.ListedSnapshot;
import io.cephcsi.proto.csi.v1.Snapshot;
import java.time.Instant;

/** Encodes snapshots. */
final class Snapshots {
  private Snapshots() {}

  /** A snapshot as lists show it. */
  static Snapshot encode(ListedSnapshot snapshot) {
    Instant created = snapshot.createdAt();
    return Snapshot.newBuilder()
        .setSnapshotId(snapshot.id().toString())
        .setSourceVolumeId(snapshot.source().toString())
        .setSizeBytes(snapshot.size())
        .setCreationTime(
            Timestamp.newBuilder().setSeconds(created.getEpochSecond()).setNanos(created.getNano()))
        .setReadyToUse(true)
        .setGroupSnapshotId(snapshot.group().orElse(""))
        .build();
  }
}
