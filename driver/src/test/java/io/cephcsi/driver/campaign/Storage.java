package io.cephcsi.driver.campaign;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** The storage of a campaign as another client sees it. Safe for several threads. */
interface Storage extends AutoCloseable {
  DriverConfig.Type type();

  /** The parameters of a StorageClass. */
  Map<String, String> parameters();

  /** Writes into a volume. */
  void write(Volume volume, String text);

  /** What was written last. */
  String read(Volume volume);

  /** How the volume is called there. */
  String name(Volume volume);

  /** How large the volume is there. */
  long size(Volume volume);

  /** The volumes and snapshots that are there. */
  Set<String> present();

  /** All that is there that was not at the beginning, with journal and trash. */
  Set<String> everything();

  /** What is there of the images that a text names, to find out what went wrong. */
  default String describe(String text) {
    return text;
  }

  @Override
  void close();

  /** Images in a pool. */
  final class Images implements Storage {
    private static final int BYTES = 64;
    private static final Pattern IMAGE = Pattern.compile("csi-(?:vol|snap)-[0-9a-f-]{36}");

    private final TestCluster cluster;
    private final PoolState state;
    private final RadosCluster connection;
    private final IoContext io;
    private final RbdPool pool;
    private final Set<String> before;

    Images(TestCluster cluster) {
      this.cluster = cluster;
      this.state = new PoolState(cluster, cluster.pool());
      this.connection = cluster.connect();
      this.io = connection.openPool(cluster.pool());
      this.pool = new RbdPool(io);
      this.before = state.everything();
    }

    @Override
    public DriverConfig.Type type() {
      return DriverConfig.Type.RBD;
    }

    @Override
    public Map<String, String> parameters() {
      return Map.of("clusterID", "test-cluster", "pool", cluster.pool());
    }

    @Override
    public String name(Volume volume) {
      return volume.getVolumeContextMap().get("imageName");
    }

    @Override
    public void write(Volume volume, String text) {
      try (RbdImage image = pool.open(name(volume))) {
        image.write(1 << 20, (text + "\n" + " ".repeat(BYTES)).substring(0, BYTES).getBytes(UTF_8));
        image.flush();
      }
    }

    @Override
    public String read(Volume volume) {
      try (RbdImage image = pool.openReadOnly(name(volume))) {
        return new String(image.read(1 << 20, BYTES), UTF_8).replaceFirst("(?s)[\n\0].*", "");
      }
    }

    @Override
    public long size(Volume volume) {
      try (RbdImage image = pool.openReadOnly(name(volume))) {
        return image.size();
      }
    }

    @Override
    public Set<String> present() {
      return new TreeSet<>(state.images());
    }

    @Override
    public String describe(String text) {
      StringBuilder all = new StringBuilder(text).append('\n');
      IMAGE
          .matcher(text)
          .results()
          .map(MatchResult::group)
          .distinct()
          .forEach(name -> all.append(describeImage(name)));
      return all.append(cluster.rbd("trash", "ls", "--all", cluster.pool())).toString();
    }

    private String describeImage(String name) {
      StringBuilder all = new StringBuilder();
      for (Optional<String> id = ImageId.find(pool, name); id.isPresent(); ) {
        all.append(name).append(" (id ").append(id.get()).append(")\n");
        String header = ImageHeader.object(id.get());
        all.append(new Omaps(cluster, cluster.pool(), "").of(header).keySet()).append('\n');
        Optional<ImageHeader> found = ImageHeader.read(io, id.get());
        all.append(found).append('\n');
        found.ifPresent(
            image ->
                all.append(ImageHeader.snapshots(io, header.substring(11), image.snapshotIds())));
        id = found.flatMap(ImageHeader::parent).map(ImageLink::imageId);
      }
      return all.append('\n').toString();
    }

    @Override
    public Set<String> everything() {
      Set<String> left = state.left(before);
      for (String directory : new String[] {"csi.volumes", "csi.snaps", "csi.groups"}) {
        left.addAll(state.keys(directory + ".default"));
      }
      return left;
    }

    @Override
    public void close() {
      io.close();
      connection.close();
    }
  }

  /** Subvolumes of a file system. */
  final class Subvolumes implements Storage {
    private final TestCluster cluster;
    private final SubvolumeState state;

    Subvolumes(TestCluster cluster) {
      this.cluster = cluster;
      this.state = new SubvolumeState(cluster);
    }

    @Override
    public DriverConfig.Type type() {
      return DriverConfig.Type.CEPHFS;
    }

    @Override
    public Map<String, String> parameters() {
      return Map.of("clusterID", "test-cluster", "fsName", cluster.fileSystem());
    }

    private static String path(Volume volume) {
      return volume.getVolumeContextMap().get("subvolumePath");
    }

    @Override
    public String name(Volume volume) {
      return volume.getVolumeContextMap().get("subvolumeName");
    }

    @Override
    public void write(Volume volume, String text) {
      state.write(path(volume) + "/content", text);
    }

    @Override
    public String read(Volume volume) {
      return state.mounted(mount -> mount.find(path(volume) + "/content").isPresent())
          ? state.read(path(volume) + "/content")
          : "";
    }

    @Override
    public long size(Volume volume) {
      return state.mounted(mount -> mount.usage(path(volume)).quotaBytes().orElse(0));
    }

    @Override
    public Set<String> present() {
      Set<String> present = new TreeSet<>();
      for (String subvolume : state.subvolumes()) {
        try {
          state.snapshots(subvolume).forEach(snapshot -> present.add(subvolume + "@" + snapshot));
          present.add(subvolume);
        } catch (CephException.NotFound e) {
          // a deletion ends in the background
        }
      }
      return present;
    }

    @Override
    public Set<String> everything() {
      return state.leftovers();
    }

    @Override
    public void close() {
      // it is open until the JVM ends
    }
  }
}
