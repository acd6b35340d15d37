package io.cephcsi.bindings.cls;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCase;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every writer of this package leaves the same bytes in RADOS as the installed librbd: each
 * operation is done by librbd in one namespace, by us in another, with the same names and ids, and
 * then all objects of the two are compared with their data, omaps and extended attributes. What may
 * differ is blanked in {@link #dump}: times, snapshot ids, the name of the namespace, the exclusive
 * lock that librbd has given back, and objects without any content.
 */
class ClassBytesIT extends RbdCase {
  private static final String IMAGE = "image";
  private static final String DIRECTORY = "rbd_directory";
  private static final String LOCK = "xattr lock.rbd_lock";
  private static final Set<ImageFeature> SIMPLE =
      Set.of(ImageFeature.LAYERING, ImageFeature.DEEP_FLATTEN);

  private static IoContext theirIo;
  private static IoContext ourIo;
  private static RbdPool theirs;
  private static RbdPool ours;

  private Instant begun;

  @BeforeAll
  static void createNamespaces() {
    String unique = UUID.randomUUID().toString().substring(0, 8);
    theirIo = createNamespace("a-" + unique);
    ourIo = createNamespace("b-" + unique);
    theirs = new RbdPool(theirIo);
    ours = new RbdPool(ourIo);
  }

  private static IoContext createNamespace(String name) {
    ceph.rbd("namespace", "create", "--pool", ceph.pool(), "--namespace", name);
    return cluster.openPool(ceph.pool(), name);
  }

  @BeforeEach
  void noteTheTime() {
    begun = Instant.now();
  }

  @AfterEach
  void removeObjects() {
    for (IoContext namespace : List.of(theirIo, ourIo)) {
      for (String object : namespace.objects()) {
        if (object.equals(DIRECTORY)) {
          removeNames(namespace);
        } else {
          namespace.remove(object);
        }
      }
    }
  }

  /** The directory has the state of the namespace, too, without which librbd makes no images. */
  private static void removeNames(IoContext namespace) {
    try (ReadOperation read = new ReadOperation();
        WriteOperation write = new WriteOperation()) {
      var keys = read.omapGetVals("", "", 1000);
      namespace.operate(DIRECTORY, read);
      write.omapRemove(
          keys.get().values().keySet().stream()
              .filter(key -> key.startsWith("name_") || key.startsWith("id_"))
              .toList());
      namespace.operate(DIRECTORY, write);
    }
  }

  @AfterAll
  static void removeNamespaces() {
    for (IoContext namespace : List.of(theirIo, ourIo)) {
      namespace.close();
      ceph.rbd("namespace", "remove", "--pool", ceph.pool(), "--namespace", namespace.namespace());
    }
  }

  static Stream<Arguments> creations() {
    Stream.Builder<Arguments> all = Stream.builder();
    for (int mask = 0; mask < 12; mask++) {
      Set<ImageFeature> features = new HashSet<>();
      if ((mask & 1) != 0) {
        features.add(ImageFeature.LAYERING);
      }
      if ((mask & 2) != 0) {
        features.add(ImageFeature.DEEP_FLATTEN);
      }
      if (mask >= 4) {
        features.add(ImageFeature.EXCLUSIVE_LOCK);
      }
      if (mask >= 8) {
        features.add(ImageFeature.OBJECT_MAP);
        features.add(ImageFeature.FAST_DIFF);
      }
      all.add(Arguments.of(features, 22, 10L << 20));
    }
    return Stream.concat(
        all.build(),
        Stream.of(
            Arguments.of(LOCKED, 12, 4097L),
            Arguments.of(MAPPED, 22, 1L << 40),
            Arguments.of(MAPPED, 25, (1L << 25) + 1),
            Arguments.of(MAPPED, 12, 5L << 20),
            Arguments.of(MAPPED, 22, 0L)));
  }

  @ParameterizedTest
  @MethodSource("creations")
  void creation(Set<ImageFeature> features, int order, long size) {
    createTwice(ImageOptions.builder().features(features).order(order).build(), size);
    assertSameBytes();
  }

  /** Creates an image by librbd, and then by us with the same id. */
  private String createTwice(ImageOptions options, long size) {
    theirs.create(IMAGE, size, options);
    String id = ImageId.find(theirs, IMAGE).orElseThrow();
    assertThat(ImageCreation.create(ourIo, IMAGE, id, size, options)).contains(id);
    assertThat(dump(theirIo)).isNotEmpty();
    return id;
  }

  @ParameterizedTest
  @MethodSource("movedImages")
  void moveToTheTrash(Set<ImageFeature> features, boolean begunByLibrbd) {
    String id = createTwice(with(features), OBJECT);
    if (begunByLibrbd) {
      ClassCall moving = ClassCall.content().u8(0).string(IMAGE).time(begun).time(begun).u8(1);
      write("rbd_trash", RbdClass.call("trash_add").string(id).structure(2, 1, moving));
    }
    theirs.moveToTrash(IMAGE, Duration.ZERO);
    assertThat(TrashMove.moveIfPlain(ourIo, IMAGE, id)).isTrue();
    assertThat(TrashMark.exists(ourIo, id)).isNotEqualTo(begunByLibrbd);
    TrashMark.remove(ourIo, List.of(id)); // the only key that is not librbd's
    assertSameBytes();
  }

  static Stream<Arguments> movedImages() {
    return Stream.of(
        Arguments.of(PLAIN, false),
        Arguments.of(MAPPED, false),
        Arguments.of(SIMPLE, false),
        Arguments.of(MAPPED, true));
  }

  @Test
  void removalOfTheNameOfAnImageWithoutHeader() {
    String id = createTwice(with(MAPPED), OBJECT);
    theirIo.remove("rbd_header." + id);
    ourIo.remove("rbd_header." + id);
    theirs.remove(IMAGE, Progress.NONE);
    NameRemoval.forget(ours, IMAGE, id);
    assertSameBytes();
  }

  @Test
  void snapshotAndItsRemoval() {
    String id = createTwice(with(SIMPLE), OBJECT);
    long taken;
    try (RbdImage image = theirs.open(IMAGE);
        InitialSnapshot snapshot = InitialSnapshot.prepare(ours)) {
      image.snapshots().create("one");
      assertThat(snapshot.take(id, "one")).isTrue();
      assertSameBytes();
      taken = ImageHeader.read(ourIo, id).orElseThrow().snapshotIds().get(0);
      image.snapshots().remove("one");
    }
    assertThat(InitialSnapshot.remove(ours, id, taken)).isTrue();
    assertSameBytes();
  }

  @Test
  void metadata() {
    String id = createTwice(with(MAPPED), OBJECT);
    try (RbdImage image = theirs.open(IMAGE)) {
      image.metadata().set("gone", "1");
      image.metadata().set("conf_rbd_cache", "false");
      image.metadata().set("ä/key", "x".repeat(5000));
      image.metadata().set("empty", "");
      HeaderMetadata.change(
          ourIo,
          id,
          Map.of("gone", "1", "conf_rbd_cache", "false", "ä/key", "x".repeat(5000), "empty", ""),
          List.of());
      image.metadata().remove("gone");
      HeaderMetadata.change(ourIo, id, Map.of("more", "2"), List.of("gone"));
      image.metadata().set("more", "2");
    }
    assertSameBytes();
  }

  @ParameterizedTest
  @MethodSource("parents")
  void cloneOfASnapshot(Set<ImageFeature> features) {
    String id = createTwice(with(features), 3 * OBJECT);
    for (RbdPool pool : List.of(theirs, ours)) {
      try (RbdImage image = pool.open(IMAGE)) {
        image.snapshots().create("one");
        image.resize(4 * OBJECT, false, Progress.NONE);
      }
    }
    ImageOptions options =
        ImageOptions.builder().features(SIMPLE).objectSizeBytes(OBJECT).cloneFormat(2).build();
    theirs.cloneImage(IMAGE, "one", theirs, "clone", options);
    String cloneId = ImageId.find(theirs, "clone").orElseThrow();
    assertThat(ImageCreation.create(ourIo, "clone", cloneId, 3 * OBJECT, with(SIMPLE)))
        .contains(cloneId);
    long snapshot = ImageHeader.read(ourIo, id).orElseThrow().snapshotIds().get(0);
    new SnapshotClone(ours, id, snapshot).attach(ours, cloneId, 3 * OBJECT);
    assertSameBytes();
  }

  static Stream<Set<ImageFeature>> parents() {
    return Stream.of(PLAIN, MAPPED);
  }

  @Test
  void anImageForgetsItsGroup() {
    String id = createTwice(with(MAPPED), OBJECT);
    for (RbdPool pool : List.of(theirs, ours)) {
      pool.createGroup("group");
      pool.group("group").addImage(pool, IMAGE);
    }
    theirs.group("group").removeImage(theirs, IMAGE);
    GroupHeader.forget(ourIo, id, ImageHeader.read(ourIo, id).orElseThrow().group().orElseThrow());
    String header = "rbd_header." + id;
    assertThat(dump(ourIo).get(header)).isEqualTo(dump(theirIo).get(header)).isNotEmpty();
  }

  @Test
  void remnantOfAGroup() {
    for (RbdPool pool : List.of(theirs, ours)) {
      pool.createGroup("group");
    }
    String id = GroupHeader.id(ourIo, "group").orElseThrow();
    theirs.removeGroup("group");
    write("rbd_group_directory", RbdClass.call("group_dir_remove").string("group").string(id));
    GroupHeader.removeRemnant(ourIo, id);
    assertSameBytes();
    assertThat(ourIo.objects()).containsExactlyInAnyOrderElementsOf(theirIo.objects());
  }

  private static void write(String object, ClassCall call) {
    try (WriteOperation write = new WriteOperation()) {
      call.addTo(write);
      ourIo.operate(object, write);
    }
  }

  private void assertSameBytes() {
    assertThat(dump(ourIo)).isEqualTo(dump(theirIo));
  }

  /** All objects of a namespace, each with its data, extended attributes, and omap, as hex. */
  private Map<String, Map<String, String>> dump(IoContext io) {
    Map<String, Map<String, String>> objects = new TreeMap<>();
    Blank blank = new Blank(io.namespace(), snapshotIds(io), begun);
    for (String object : io.objects()) {
      Map<String, String> content = new TreeMap<>();
      try (ReadOperation read = new ReadOperation()) {
        var omap = read.omapGetVals("", "", 1000);
        var xattrs = read.getXattrs();
        io.operate(object, read);
        content.put("data", blank.in(io.read(object, 0, 8 << 20)));
        omap.get()
            .values()
            .forEach((key, value) -> content.put("omap " + blank.in(key), blank.in(key, value)));
        xattrs.get().forEach((key, value) -> content.put("xattr " + key, blank.in(value)));
      }
      if (content.remove(LOCK) != null) {
        assertThat(ObjectLock.holders(io, object, "rbd_lock")).isEmpty();
      }
      if (content.size() > 1 || !content.get("data").isEmpty()) {
        objects.put(blank.in(object), content);
      }
    }
    return objects;
  }

  /** The ids of all snapshots that there are, or were last, in the headers of a namespace. */
  private static Set<Long> snapshotIds(IoContext io) {
    Set<Long> ids = new TreeSet<>();
    for (String object : io.objects()) {
      if (object.startsWith("rbd_header.")) {
        try (ReadOperation read = new ReadOperation()) {
          var context = RbdClass.call("get_snapcontext").addTo(read);
          io.operate(object, read);
          ids.add(ClassCall.output(context.get()).getLong());
          ids.addAll(ImageHeader.snapshotIds(context.get()));
        } catch (CephException.NotFound e) {
          throw new AssertionError(object, e);
        }
      }
    }
    ids.remove(0L);
    return ids;
  }

  /** Replaces what differs between any two runs of the same operation. */
  private record Blank(String namespace, Set<Long> snapshotIds, Instant begun) {
    private static final int VERSIONS = 6; // version, oldest reader, length

    String in(String name) {
      String blanked = name;
      int number = 0;
      for (long id : snapshotIds) {
        blanked = blanked.replace(String.format("%016x", id), "SNAPSHOT-" + number++);
      }
      return blanked;
    }

    String in(byte[] value) {
      String blanked =
          new String(withoutTimes(value), ISO_8859_1)
              .replace(namespace, "#".repeat(namespace.length()));
      return HexFormat.of().formatHex(blanked.getBytes(ISO_8859_1));
    }

    /** The value of an omap key; those of some keys of a header have a snapshot's id in them. */
    String in(String key, byte[] value) {
      ByteBuffer bytes = ByteBuffer.wrap(value.clone()).order(ByteOrder.LITTLE_ENDIAN);
      if (key.equals("snap_seq")) {
        number(bytes, 0);
      } else if (key.startsWith("snapshot_")) {
        number(bytes, VERSIONS);
      } else if (key.equals("parent")) {
        int image = VERSIONS + Long.BYTES + Integer.BYTES + namespace.length();
        number(bytes, image + Integer.BYTES + bytes.getInt(image));
      }
      return in(bytes.array());
    }

    private void number(ByteBuffer bytes, int at) {
      int number = List.copyOf(snapshotIds).indexOf(bytes.getLong(at));
      assertThat(number >= 0 || bytes.getLong(at) == 0).isTrue();
      bytes.putLong(at, number);
    }

    /** A time is u32 seconds, u32 nanoseconds, and lies within this test. */
    private byte[] withoutTimes(byte[] value) {
      ByteBuffer bytes = ByteBuffer.wrap(value.clone()).order(ByteOrder.LITTLE_ENDIAN);
      long from = begun.getEpochSecond() - 1;
      long until = Instant.now().getEpochSecond() + 1;
      for (int at = 0; at + Long.BYTES <= value.length; at++) {
        long seconds = Integer.toUnsignedLong(bytes.getInt(at));
        long nanos = Integer.toUnsignedLong(bytes.getInt(at + Integer.BYTES));
        if (seconds >= from && seconds <= until && nanos < 1_000_000_000) {
          bytes.putLong(at, 0);
        }
      }
      return bytes.array();
    }
  }
}
