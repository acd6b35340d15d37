package io.cephcsi.bindings;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.cephfs.CephFsFile;
import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The code of native-bindings/README.md. */
final class Tutorial {
  private Tutorial() {}

  /** Connects as client.admin, by a ceph.conf that names the keyring. */
  static RadosCluster connect(Path cephConf) {
    return RadosCluster.connect(
        ConnectionSettings.user("admin")
            .configFile(cephConf)
            .connectTimeout(Duration.ofSeconds(15))
            .operationTimeout(Duration.ofSeconds(30))
            .build());
  }

  /** Changes an object in one step, or not at all, and reads it in one step. */
  static String object(RadosCluster cluster, String pool) {
    try (IoContext io = cluster.openPool(pool);
        WriteOperation create = new WriteOperation();
        WriteOperation change = new WriteOperation();
        ReadOperation read = new ReadOperation()) {
      create.createExclusive().omapSet("state", "new".getBytes(UTF_8));
      io.operate("tutorial", create);

      // Fails with CephException.Canceled, and changes nothing, if the key has another value.
      change.omapCompare("state", "new".getBytes(UTF_8));
      change.omapSet("state", "used".getBytes(UTF_8)).writeFull("data".getBytes(UTF_8));
      io.operate("tutorial", change);

      ReadOperation.Result<byte[]> data = read.read(0, 4096);
      var keys = read.omapGetByKeys(List.of("state"));
      long version = io.operateVersioned("tutorial", read);
      io.remove("tutorial");
      return text(data.get()) + " " + text(keys.get().get("state")) + " " + (version > 0);
    }
  }

  /** Makes an image, writes to it, takes a snapshot, gives space back. */
  static byte[] image(RadosCluster cluster, String pool) {
    try (IoContext io = cluster.openPool(pool)) {
      RbdPool images = new RbdPool(io);
      images.create("tutorial", 64 << 20, ImageOptions.defaults());
      try (RbdImage image = images.open("tutorial")) {
        image.write(0, "hello".getBytes(UTF_8));
        image.snapshots().create("before");
        image.discard(0, 4 << 20);
        image.flush();
      }
      byte[] kept;
      try (RbdImage snapshot = images.openReadOnly("tutorial", "before")) {
        kept = snapshot.read(0, 5);
      }
      try (RbdImage image = images.open("tutorial")) {
        image.snapshots().remove("before");
      }
      images.remove("tutorial", Progress.NONE);
      return kept;
    }
  }

  /** Mounts a file system inside this process, without the kernel. */
  static long file(RadosCluster cluster, String fileSystem) {
    try (CephFsMount mount = CephFsMount.mount(cluster, fileSystem, "/")) {
      mount.makeDirectory("/tutorial", 0755);
      mount.setQuotaBytes("/tutorial", 1 << 30);
      try (CephFsFile file = mount.createFile("/tutorial/greeting", 0644)) {
        file.write(0, "hello".getBytes(UTF_8));
        file.flush();
      }
      long quota = mount.usage("/tutorial").quotaBytes().orElse(0);
      mount.removeFile("/tutorial/greeting");
      mount.removeDirectory("/tutorial");
      return quota;
    }
  }

  /** Errors are typed, and say operation, object and errno. */
  static String missing(RadosCluster cluster, String pool) {
    try (IoContext io = cluster.openPool(pool)) {
      return text(io.read("no-such-object", 0, 1));
    } catch (CephException.NotFound e) {
      return e.operation() + " " + e.object() + " " + e.errno();
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, UTF_8);
  }
}
