package io.cephcsi.driver.node.attach;

import io.cephcsi.testing.TestCluster;
import java.nio.file.Path;
import java.util.Map;

/** What a call leaves that is killed while it shows an export the new size of its image. */
public final class HalfRefreshed {
  private HalfRefreshed() {}

  /**
   * Opens the image once more, and goes no further.
   *
   * @param folder of the export
   */
  public static void leave(Path folder, TestCluster cluster, String image) {
    MachineProtocol.at(
        folder.resolve("qmp"),
        qemu ->
            qemu.execute(
                "blockdev-add",
                Map.of(
                    "driver",
                    "rbd",
                    "node-name",
                    "image",
                    "pool",
                    cluster.pool(),
                    "image",
                    image,
                    "user",
                    cluster.rbdUser(),
                    "key-secret",
                    "key",
                    "conf",
                    folder.resolve("ceph.conf").toString())));
  }
}
