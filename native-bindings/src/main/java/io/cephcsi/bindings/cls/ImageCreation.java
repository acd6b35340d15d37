package io.cephcsi.bindings.cls;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.Completion;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapPage;
import io.cephcsi.bindings.rados.PendingRead;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdPool;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;

/**
 * Makes an empty image by the same calls of the object class {@code rbd} as {@code rbd_create4}.
 * librbd builds all of Ceph's settings anew for every image that it makes, which costs several
 * times the CPU of the calls themselves.
 *
 * <pre>
 *   rbd_info             read: the pool was validated by librbd before, and overrides no setting
 *   rbd_directory        dir_add_image      string name · string id
 *   rbd_id.NAME          create, set_id     string id
 *   rbd_header.ID        create, create     u64 size · u8 order · u64 features · string prefix · i64 -1
 *   rbd_object_map.ID    object_map_resize  u64 objects · u8 0
 * </pre>
 *
 * <p>Three round trips: the two objects of the name are written together, and then, so that there
 * never is an image without a name, the two of the image. What dies in between leaves what librbd
 * would leave: a name, with or without the rest, that {@link NameRemoval#forget} or {@link
 * RbdPool#remove} removes.
 *
 * <p>Only plain images: what has a data pool, stripes, a journal, or settings of its own in the
 * pool, is left to librbd.
 */
final class ImageCreation {
  private static final Set<ImageFeature> PLAIN =
      EnumSet.of(
          ImageFeature.LAYERING,
          ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.OBJECT_MAP,
          ImageFeature.FAST_DIFF,
          ImageFeature.DEEP_FLATTEN);
  private static final String INFO = "rbd_info";
  private static final byte[] VALIDATED = "overwrite validated".getBytes(UTF_8);
  private static final String OVERRIDE = "metadata_conf_";
  private static final String DIRECTORY = "rbd_directory";
  private static final int MIN_ORDER = 12;
  private static final int MAX_ORDER = 25;
  private static final long MAX_MAPPED_OBJECTS = 256_000_000;
  private static final int ID_BYTES = 7; // rbd_data. and 14 digits are the longest prefix allowed
  private static final SecureRandom RANDOM = new SecureRandom();

  private final IoContext io;
  private final String name;
  private final String id;

  private ImageCreation(IoContext io, String name, String id) {
    this.io = io;
    this.name = name;
    this.id = id;
  }

  /** Whether such an image is a plain one, as far as can be said without asking the cluster. */
  static boolean isPlain(RadosCluster cluster, ImageOptions options) {
    return options.features().filter(ImageCreation::arePlain).isPresent()
        && options.dataPool().isEmpty()
        && options.stripeUnit().isEmpty()
        && options.stripeCount().isEmpty()
        && options.cloneFormat().isEmpty()
        && !hasDefaults(cluster);
  }

  /**
   * Asks the pool about itself, whether librbd can be done without; does not wait for the answer.
   */
  static Question ask(IoContext io) {
    return new Question(io);
  }

  /**
   * Makes a plain image.
   *
   * @return its id; empty, and nothing was done, if librbd must make it for its size
   * @throws CephException.AlreadyExists if the name is taken
   */
  static Optional<String> create(IoContext io, String name, long sizeBytes, ImageOptions options) {
    byte[] random = new byte[ID_BYTES];
    RANDOM.nextBytes(random);
    return create(io, name, HexFormat.of().formatHex(random), sizeBytes, options);
  }

  /** As {@link #create(IoContext, String, long, ImageOptions)}, with an id that no image has. */
  static Optional<String> create(
      IoContext io, String name, String id, long sizeBytes, ImageOptions options) {
    int order = options.order().orElseGet(() -> number(io.cluster(), "rbd_default_order"));
    if (sizeBytes < 0
        || order < MIN_ORDER
        || order > MAX_ORDER
        || objects(sizeBytes, order) > MAX_MAPPED_OBJECTS) {
      return Optional.empty();
    }
    ImageCreation creation = new ImageCreation(io, name, id);
    creation.make(sizeBytes, order, ImageFeature.mask(options.features().orElseThrow()));
    return Optional.of(creation.id);
  }

  private static boolean arePlain(Set<ImageFeature> features) {
    boolean mapped = features.contains(ImageFeature.OBJECT_MAP);
    return PLAIN.containsAll(features)
        && mapped == features.contains(ImageFeature.FAST_DIFF)
        && (!mapped || features.contains(ImageFeature.EXCLUSIVE_LOCK));
  }

  private static long objects(long sizeBytes, int order) {
    return (sizeBytes >> order) + ((sizeBytes & ((1L << order) - 1)) == 0 ? 0 : 1);
  }

  private static boolean hasDefaults(RadosCluster cluster) {
    return number(cluster, "rbd_default_stripe_unit") != 0
        || number(cluster, "rbd_default_stripe_count") != 0
        || !cluster.option("rbd_default_data_pool").isEmpty();
  }

  private static int number(RadosCluster cluster, String option) {
    try {
      return Integer.parseInt(cluster.option(option));
    } catch (NumberFormatException e) {
      return -1; // with a unit, say: librbd reads it
    }
  }

  /** Whether librbd validated a pool before, and the pool overrides no setting; one round trip. */
  static final class Question implements AutoCloseable {
    private final ReadOperation.Result<byte[]> state;
    private final ReadOperation.Result<OmapPage> overrides;
    private final PendingRead pending;

    private Question(IoContext io) {
      ReadOperation read = new ReadOperation();
      try {
        state = read.read(0, VALIDATED.length + 1);
        overrides = read.omapGetValsBehind("", OVERRIDE, 1);
        pending = io.operateAsync(INFO, read);
      } catch (RuntimeException e) {
        read.close();
        throw e;
      }
    }

    /** Waits for the answer; the first time. */
    boolean isValidated() {
      try {
        pending.await();
      } catch (CephException.NotFound e) {
        return false;
      }
      return Arrays.equals(state.get(), VALIDATED) && overrides.get().values().isEmpty();
    }

    @Override
    public void close() {
      pending.close();
    }
  }

  private void make(long sizeBytes, int order, long features) {
    giveName();
    try {
      writeHeaderAndMap(sizeBytes, order, features);
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) {
      remove("rbd_object_map." + id, e);
      remove(ImageHeader.object(id), e);
      forget(e);
      throw e;
    }
  }

  /** Both objects that lead from the name to the id, before there is anything of this id. */
  private void giveName() {
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("dir_add_image").string(name).string(id).addTo(write);
      try (Completion listed = io.operateAsync(DIRECTORY, write)) {
        write("rbd_id." + name, RbdClass.call("set_id").string(id), true);
        listed.await();
      }
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) {
      forget(e);
      throw e;
    }
  }

  private void writeHeaderAndMap(long sizeBytes, int order, long features) {
    ClassCall header =
        RbdClass.call("create")
            .u64(sizeBytes)
            .u8(order)
            .u64(features)
            .string("rbd_data." + id)
            .u64(-1);
    if ((features & ImageFeature.OBJECT_MAP.mask()) == 0) {
      write(ImageHeader.object(id), header, true);
      return;
    }
    ClassCall map = RbdClass.call("object_map_resize").u64(objects(sizeBytes, order)).u8(0);
    try (WriteOperation write = new WriteOperation()) {
      map.addTo(write);
      try (Completion mapped = io.operateAsync("rbd_object_map." + id, write)) {
        write(ImageHeader.object(id), header, true);
        mapped.await();
      }
    }
  }

  private void write(String object, ClassCall call, boolean exclusive) {
    try (WriteOperation write = new WriteOperation()) {
      if (exclusive) {
        write.createExclusive();
      }
      call.addTo(write);
      io.operate(object, write);
    }
  }

  /** Takes the name away again. */
  private void forget(CephException because) {
    try {
      NameRemoval.remove(io, name, id);
    } catch (CephException e) {
      because.addSuppressed(e);
    }
  }

  private void remove(String object, CephException because) {
    try {
      io.remove(object);
    } catch (CephException.NotFound e) {
      return; // never made
    } catch (CephException e) {
      because.addSuppressed(e);
    }
  }
}
