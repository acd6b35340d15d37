package io.cephcsi.driver.year;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.addons.replication.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.testing.LocalCluster;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A cluster, the place of its driver, and a writer of numbered blocks. */
final class Site implements AutoCloseable {
  private static final int BLOCK = 4096;

  private final LocalCluster ceph;
  private final int number;
  private final DriverSeat seat;
  private final RadosCluster cluster;
  private final IoContext context;
  private final Set<String> before;

  /** Of a cluster; its driver is not started. */
  Site(LocalCluster ceph, int number) {
    this.ceph = ceph;
    this.number = number;
    this.seat =
        new DriverSeat(
            DriverConfig.Type.RBD,
            ceph,
            ceph.rbdUser(),
            List.of(),
            "--connect-timeout=5",
            "--operation-timeout=10");
    this.cluster = ceph.connect();
    this.context = cluster.openPool(ceph.pool());
    this.before = state().everything();
  }

  private PoolState state() {
    return new PoolState(ceph, ceph.pool());
  }

  LocalCluster ceph() {
    return ceph;
  }

  int number() {
    return number;
  }

  DriverSeat seat() {
    return seat;
  }

  ControllerBlockingStub controller() {
    return io.cephcsi.proto.csi.v1.ControllerGrpc.newBlockingStub(seat.channel());
  }

  TestReplication replication(Map<String, String> secrets) {
    return new TestReplication(ControllerGrpc.newBlockingStub(seat.channel()), secrets);
  }

  /** Writes a block that says its number and this site. */
  void write(String image, int block) {
    try (RbdImage open = new RbdPool(context).open(image)) {
      ByteBuffer text = ByteBuffer.allocate(8).putInt(block + 1).putInt(number + 1);
      open.write((long) block * BLOCK, text.array());
      open.flush();
    }
  }

  /** Which site wrote each block, from the first to the last that is there. */
  List<Integer> writers(String image, long size) {
    List<Integer> writers = new ArrayList<>();
    try (RbdImage open = new RbdPool(context).openReadOnly(image)) {
      for (int block = 0; (long) block * BLOCK < size; block++) {
        ByteBuffer text = ByteBuffer.wrap(open.read((long) block * BLOCK, 8));
        int at = text.getInt();
        if (at == 0) {
          break;
        }
        if (at != block + 1) {
          throw new AssertionError("block " + block + " of " + image + " says " + at);
        }
        writers.add(text.getInt() - 1);
      }
    }
    return writers;
  }

  void takeMirrorSnapshot(String image) {
    try (RbdImage open = new RbdPool(context).open(image)) {
      open.mirror().createSnapshot();
    }
  }

  /** Whether an image follows another site's. */
  boolean replays(String image) {
    try (RbdImage open = new RbdPool(context).openReadOnly(image)) {
      return open.mirror()
          .status()
          .local()
          .filter(site -> site.isUp(MirrorSite.State.REPLAYING))
          .isPresent();
    }
  }

  /** Whether the daemon of another site says here that it follows an image. */
  boolean isFollowed(String image) {
    try (RbdImage open = new RbdPool(context).openReadOnly(image)) {
      return open.mirror().status().remote().stream()
          .anyMatch(site -> site.isUp(MirrorSite.State.REPLAYING));
    }
  }

  boolean has(String image) {
    return ImageId.find(new RbdPool(context), image).isPresent();
  }

  /** Waits until nothing is there that was not at the beginning. */
  void awaitEmpty() {
    state().awaitNothingBut(before);
  }

  @Override
  public void close() {
    seat.close();
    context.close();
    cluster.close();
  }
}
