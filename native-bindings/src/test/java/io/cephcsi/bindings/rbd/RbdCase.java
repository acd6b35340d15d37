package io.cephcsi.bindings.rbd;

import com.ceph.rados.IoCTX;
import com.ceph.rados.Rados;
import com.ceph.rados.exceptions.RadosException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.testing.TestCluster;
import java.util.Arrays;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/**
 * What the tests of images share: a connection, the pool, a fresh name, and two independent
 * clients, the command {@code rbd} and rados-java. Closing the pool fails when a test left an image
 * open.
 */
public abstract class RbdCase {
  protected static final int OBJECT = 1 << 20;
  protected static final Set<ImageFeature> PLAIN = Set.of(ImageFeature.LAYERING);
  protected static final Set<ImageFeature> LOCKED =
      Set.of(ImageFeature.LAYERING, ImageFeature.EXCLUSIVE_LOCK);
  protected static final Set<ImageFeature> MAPPED =
      Set.of(
          ImageFeature.LAYERING,
          ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.OBJECT_MAP,
          ImageFeature.FAST_DIFF,
          ImageFeature.DEEP_FLATTEN);

  private static final ObjectMapper JSON = new ObjectMapper();

  protected static TestCluster ceph;
  protected static RadosCluster cluster;
  protected static IoContext io;
  protected static RbdPool pool;

  /** A name that no other test uses. */
  protected String name;

  @BeforeAll
  protected static void connect() {
    ceph = TestCluster.shared();
    cluster = ceph.connect();
    io = cluster.openPool(ceph.pool());
    pool = new RbdPool(io);
  }

  @AfterAll
  protected static void disconnect() {
    io.close();
    cluster.close();
  }

  @BeforeEach
  protected void chooseName() {
    name = "image-" + UUID.randomUUID();
  }

  protected static ImageOptions with(Set<ImageFeature> features) {
    return ImageOptions.builder().features(features).objectSizeBytes(OBJECT).build();
  }

  /** Creates an image of this test's name with objects of 1 MiB. */
  protected void create(Set<ImageFeature> features, int objects) {
    pool.create(name, (long) objects * OBJECT, with(features));
  }

  /** The image's name with its pool, as the command {@code rbd} takes it. */
  protected String spec() {
    return ceph.pool() + "/" + name;
  }

  protected static byte[] filled(int length, int value) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  /** Writes whole objects of a value. */
  protected static void fill(RbdImage image, int firstObject, int objects, int value) {
    for (int i = firstObject; i < firstObject + objects; i++) {
      image.write((long) i * OBJECT, filled(OBJECT, value));
    }
    image.flush();
  }

  /** What {@code rbd ... --format json} prints. */
  protected static JsonNode rbdJson(String... args) {
    String[] all = Arrays.copyOf(args, args.length + 2);
    all[args.length] = "--format";
    all[args.length + 1] = "json";
    try {
      return JSON.readTree(ceph.rbd(all));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /** How many bytes {@code rbd diff} says are allocated. */
  protected long allocatedBytes() {
    long bytes = 0;
    for (JsonNode extent : rbdJson("diff", spec())) {
      if (extent.get("exists").asBoolean()) {
        bytes += extent.get("length").asLong();
      }
    }
    return bytes;
  }

  /** The pool through rados-java; one connection for all tests, as its finalizers close it. */
  protected static IoCTX otherClient() {
    return Other.IO;
  }

  /** The connection of rados-java. */
  private static final class Other {
    static final Rados RADOS = new Rados("admin");
    static final IoCTX IO = connected();

    private static IoCTX connected() {
      try {
        RADOS.confSet("mon_host", TestCluster.shared().monitors());
        RADOS.confSet("key", TestCluster.shared().key("admin"));
        RADOS.connect();
        return RADOS.ioCtxCreate(TestCluster.shared().pool());
      } catch (RadosException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
