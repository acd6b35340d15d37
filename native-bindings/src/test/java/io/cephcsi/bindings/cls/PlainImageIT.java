package io.cephcsi.bindings.cls;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCase;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.bindings.rbd.TrashSource;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What is made and moved without librbd is the same, byte for byte, as what librbd makes and moves.
 */
class PlainImageIT extends RbdCase {
  static Stream<Arguments> images() {
    return Stream.of(
        Arguments.of(PLAIN, 22, 10L << 20),
        Arguments.of(LOCKED, 12, 4097L),
        Arguments.of(MAPPED, 22, 1L << 30),
        Arguments.of(MAPPED, 25, (1L << 25) + 1),
        Arguments.of(MAPPED, 12, 5L << 20),
        Arguments.of(MAPPED, 22, 0L),
        Arguments.of(Set.<ImageFeature>of(), 20, 1L << 20));
  }

  @ParameterizedTest
  @MethodSource("images")
  void isWhatLibrbdMakes(Set<ImageFeature> features, int order, long size) {
    ImageOptions options = ImageOptions.builder().features(features).order(order).build();
    String theirs = name + "-theirs";
    pool.create(theirs, size, options); // which also has the pool validated
    assertThat(createIfPlain(size, options)).isPresent();

    String mine = ImageId.find(pool, name).orElseThrow();
    String their = ImageId.find(pool, theirs).orElseThrow();
    assertThat(mine).hasSizeLessThanOrEqualTo(14);
    assertThat(header(mine)).isEqualTo(header(their));
    assertThat(bytes("rbd_object_map." + mine)).isEqualTo(bytes("rbd_object_map." + their));
    assertThat(bytes("rbd_id." + name)).hasSize(4 + mine.length());
    assertThat(rbdJson("info", spec()).get("id").asText()).isEqualTo(mine);
    assertThat(rbdJson("ls", ceph.pool()).toString()).contains('"' + name + '"');
  }

  @Test
  void holdsDataAndCanBeSnapshottedClonedAndRemoved() {
    pool.create(name + "-first", OBJECT, with(MAPPED));
    try (PreparedCreation creation = PreparedCreation.prepare(pool, with(MAPPED))) {
      PreparedCreation.Created created = creation.create(name, 8L * OBJECT);
      assertThat(created).isEqualTo(new PreparedCreation.Created(created.id(), true));
      assertThat(ImageId.find(pool, name)).contains(created.id());
    }

    try (RbdImage image = pool.open(name)) {
      fill(image, 2, 3, 7);
      assertThat(image.flags()).isEmpty();
      image.snapshots().create("one");
    }
    ceph.rbd("clone", "--rbd-default-clone-format", "2", spec() + "@one", spec() + "-child");
    assertThat(ceph.rbd("object-map", "check", spec())).doesNotContain("error");
    assertThat(allocatedBytes()).isEqualTo(3L * OBJECT);
    ceph.rbd("rm", spec() + "-child");
    ceph.rbd("snap", "purge", spec());
    ceph.rbd("rm", spec());
    assertThat(ImageId.find(pool, name)).isEmpty();
  }

  @Test
  void theNameIsTakenOnce() {
    pool.create(name, OBJECT, with(MAPPED));
    String id = ImageId.find(pool, name).orElseThrow();

    assertThatThrownBy(() -> PreparedCreation.create(pool, name, 2 * OBJECT, with(MAPPED)))
        .isInstanceOf(CephException.AlreadyExists.class);

    assertThat(ImageId.find(pool, name)).contains(id);
    assertThat(rbdJson("info", spec()).get("size").asLong()).isEqualTo(OBJECT);
  }

  /** The directory lost the name, the image is there: nothing of it may change. */
  @Test
  void anImageThatTheDirectoryForgotIsLeftAlone() {
    pool.create(name, OBJECT, with(MAPPED));
    String id = ImageId.find(pool, name).orElseThrow();
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("dir_remove_image").string(name).string(id).addTo(write);
      io.operate("rbd_directory", write);
    }

    assertThatThrownBy(() -> PreparedCreation.create(pool, name, OBJECT, with(MAPPED)))
        .isInstanceOf(CephException.AlreadyExists.class);

    assertThat(ImageId.find(pool, name)).contains(id);
    assertThat(rbdJson("ls", ceph.pool()).toString()).doesNotContain('"' + name + '"');
    try (RbdImage image = pool.open(name)) {
      assertThat(image.size()).isEqualTo(OBJECT);
    }
  }

  /** A process that dies leaves the directory entry, and any of the objects behind it. */
  @ParameterizedTest
  @MethodSource("leftovers")
  void whatADeadProcessLeavesCanBeSwept(List<String> objects) {
    pool.create(name + "-first", OBJECT, with(MAPPED));
    String id = PreparedCreation.create(pool, name, OBJECT, with(MAPPED));
    Stream.of("rbd_id." + name, "rbd_header." + id, "rbd_object_map." + id)
        .filter(object -> objects.stream().noneMatch(object::startsWith))
        .forEach(io::remove);

    assertThat(ImageHeader.idInDirectory(io, name)).contains(id);
    pool.remove(name, Progress.NONE);

    assertThat(ImageHeader.idInDirectory(io, name)).isEmpty();
    assertThat(io.objects())
        .doesNotContain("rbd_id." + name, "rbd_header." + id, "rbd_object_map." + id);
    assertThat(PreparedCreation.create(pool, name, OBJECT, with(MAPPED))).isNotEqualTo(id);
  }

  static Stream<List<String>> leftovers() {
    return Stream.of(
        List.of(),
        List.of("rbd_id"),
        List.of("rbd_id", "rbd_object_map"),
        List.of("rbd_id", "rbd_header"));
  }

  private Optional<String> createIfPlain(long sizeBytes, ImageOptions options) {
    try (PreparedCreation creation = PreparedCreation.prepare(pool, options)) {
      return creation.createIfPlain(name, sizeBytes);
    }
  }

  @Test
  void whatIsNotPlainIsLeftToLibrbd() {
    ImageOptions.Builder mapped = ImageOptions.builder().features(MAPPED);
    assertThat(createIfPlain(OBJECT, ImageOptions.defaults())).isEmpty();
    assertThat(createIfPlain(OBJECT, mapped.dataPool("rbd-data").build())).isEmpty();
    assertThat(
            createIfPlain(
                OBJECT,
                ImageOptions.builder().features(MAPPED).stripeUnit(4096).stripeCount(2).build()))
        .isEmpty();
    assertThat(
            createIfPlain(
                OBJECT, with(Set.of(ImageFeature.EXCLUSIVE_LOCK, ImageFeature.JOURNALING))))
        .isEmpty();
    assertThat(createIfPlain(OBJECT, with(Set.of(ImageFeature.OBJECT_MAP)))).isEmpty();
    assertThat(createIfPlain(Long.MAX_VALUE, with(MAPPED))).isEmpty();
    assertThat(ImageId.find(pool, name)).isEmpty();

    try (PreparedCreation creation =
        PreparedCreation.prepare(pool, mapped.dataPool("rbd-data").build())) {
      PreparedCreation.Created created = creation.create(name, OBJECT);
      assertThat(rbdJson("info", spec()).get("data_pool").asText()).isEqualTo("rbd-data");
      assertThat(rbdJson("info", spec()).get("id").asText()).isEqualTo(created.id());
      assertThat(created.certain()).as("librbd does not tell the id").isFalse();
    }
  }

  @Test
  void settingsOfThePoolAreLibrbdsToRead() {
    pool.create(name + "-first", OBJECT, with(MAPPED));
    ceph.rbd("config", "pool", "set", ceph.pool(), "rbd_default_order", "21");
    try {
      ImageOptions options = ImageOptions.builder().features(MAPPED).build();
      assertThat(createIfPlain(OBJECT, options)).isEmpty();
      PreparedCreation.create(pool, name, OBJECT, options);
      assertThat(rbdJson("info", spec()).get("order").asInt()).isEqualTo(21);
    } finally {
      ceph.rbd("config", "pool", "remove", ceph.pool(), "rbd_default_order");
    }
  }

  @Test
  void theTrashHoldsWhatLibrbdWouldPutThere() {
    String theirs = name + "-theirs";
    pool.create(theirs, OBJECT, with(MAPPED));
    pool.create(name, OBJECT, with(MAPPED));
    String their = ImageId.find(pool, theirs).orElseThrow();
    String mine = ImageId.find(pool, name).orElseThrow();
    Instant before = Instant.now().minusSeconds(1);
    pool.moveToTrash(theirs, Duration.ZERO);

    assertThat(TrashMove.moveIfPlain(io, name, mine)).isTrue();

    assertThat(trashEntryWithoutTimes(mine, name)).isEqualTo(trashEntryWithoutTimes(their, theirs));
    TrashEntry entry = pool.trashEntry(mine).orElseThrow();
    assertThat(entry.source()).isEqualTo(TrashSource.USER);
    assertThat(entry.deletedAt()).isBetween(before, Instant.now().plusSeconds(1));
    assertThat(entry.deferredUntil()).isEqualTo(entry.deletedAt());
    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(rbdJson("ls", ceph.pool()).toString()).doesNotContain('"' + name + '"');
    pool.restoreFromTrash(mine, "");
    assertThat(rbdJson("info", spec()).get("id").asText()).isEqualTo(mine);
    TrashMove.moveIfPlain(io, name, mine);
    ceph.rbd("trash", "rm", ceph.pool() + "/" + mine);
    assertThat(io.objects()).doesNotContain("rbd_header." + mine, "rbd_object_map." + mine);
  }

  /** Whichever of the steps a process came to before it died, the next call ends in one state. */
  @ParameterizedTest
  @MethodSource("stepsOfAMove")
  void aMoveThatWasBegunIsCompleted(int state, boolean outOfDirectory) {
    pool.create(name, OBJECT, with(MAPPED));
    String id = ImageId.find(pool, name).orElseThrow();
    addToTrash(id, state);
    if (outOfDirectory) {
      try (WriteOperation write = new WriteOperation()) {
        RbdClass.call("dir_remove_image").string(name).string(id).addTo(write);
        io.operate("rbd_directory", write);
      }
    }

    TrashMove.move(pool, name, id);

    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(rbdJson("ls", ceph.pool()).toString()).doesNotContain('"' + name + '"');
    ceph.rbd("trash", "rm", ceph.pool() + "/" + id);
    assertThat(pool.trashEntry(id)).isEmpty();
  }

  @Test
  void aMoveWithDefermentIsMarkedAndKeepsTheImageUntilThen() {
    for (Set<ImageFeature> features :
        List.of(MAPPED, Set.of(ImageFeature.EXCLUSIVE_LOCK, ImageFeature.JOURNALING))) {
      pool.create(name, OBJECT, with(features));
      String id = ImageId.find(pool, name).orElseThrow();

      TrashMove.move(pool, name, id, Duration.ofHours(1));

      TrashEntry entry = TrashMark.find(io, id).orElseThrow();
      assertThat(Duration.between(entry.deletedAt(), entry.deferredUntil()))
          .isEqualTo(Duration.ofHours(1));
      assertThatThrownBy(() -> pool.removeFromTrash(id, false, Progress.NONE))
          .isInstanceOf(CephException.class);
      ceph.rbd("trash", "rm", "--force", ceph.pool() + "/" + id);
    }
  }

  private void addToTrash(String id, int state) {
    ClassCall entry =
        ClassCall.content().u8(0).string(name).time(Instant.now()).time(Instant.now()).u8(state);
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("trash_add").string(id).structure(2, 1, entry).addTo(write);
      io.operate("rbd_trash", write);
    }
  }

  @Test
  void aMoveThatLibrbdBeganIsOursAlsoWhenTheNextProcessCompletesIt() {
    pool.create(name, OBJECT, with(Set.of(ImageFeature.EXCLUSIVE_LOCK, ImageFeature.JOURNALING)));
    String id = ImageId.find(pool, name).orElseThrow();
    TrashMark.announce(io, id);
    addToTrash(id, 1); // as librbd does it first
    TrashMove.move(pool, name, id);
    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(TrashMark.find(io, id)).isPresent();
    ceph.rbd("trash", "rm", ceph.pool() + "/" + id);
  }

  static Stream<Arguments> stepsOfAMove() {
    return Stream.of(
        Arguments.of(0, false),
        Arguments.of(0, true),
        Arguments.of(1, false),
        Arguments.of(1, true));
  }

  @Test
  void aJournaledAndAGroupedImageAreLeftToLibrbd() {
    pool.create(name, OBJECT, with(Set.of(ImageFeature.EXCLUSIVE_LOCK, ImageFeature.JOURNALING)));
    String journaled = ImageId.find(pool, name).orElseThrow();
    assertThat(TrashMove.moveIfPlain(io, name, journaled)).isFalse();
    TrashMove.move(pool, name, journaled);
    assertThat(pool.trashEntry(journaled)).isPresent();

    String member = name + "-member";
    pool.create(member, OBJECT, with(MAPPED));
    ceph.rbd("group", "create", ceph.pool() + "/" + name + "-group");
    ceph.rbd("group", "image", "add", ceph.pool() + "/" + name + "-group", spec() + "-member");
    assertThat(TrashMove.moveIfPlain(io, member, ImageId.find(pool, member).orElseThrow()))
        .isFalse();
    assertThat(ImageId.find(pool, member)).isPresent();
  }

  @Test
  void aMoveThatLibrbdRefusesLeavesNoMark() {
    pool.create(name, OBJECT, with(Set.of(ImageFeature.EXCLUSIVE_LOCK, ImageFeature.JOURNALING)));
    String id = ImageId.find(pool, name).orElseThrow();
    try (RadosCluster other = ceph.connect();
        IoContext otherIo = other.openPool(ceph.pool());
        RbdImage holder = new RbdPool(otherIo).open(name)) {
      holder.lock().acquire();
      assertThatThrownBy(() -> TrashMove.move(pool, name, id))
          .isInstanceOf(CephException.Busy.class);
      assertThat(TrashMark.exists(io, id)).isFalse();
    }
    TrashMove.move(pool, name, id);
    assertThat(TrashMark.find(io, id)).isPresent();
    TrashMark.withdraw(io, id, Instant.now());
    assertThat(TrashMark.find(io, id)).isPresent();
  }

  /** By a driver that was stopped over it, while another one threw the image away. */
  @Test
  void aMoveThatComesLateLeavesTheNameToAnotherImage() {
    pool.create(name, OBJECT, with(MAPPED));
    String old = ImageId.find(pool, name).orElseThrow();
    ceph.rbd("rename", spec(), spec() + "-old");
    pool.create(name, OBJECT, with(MAPPED));
    String id = ImageId.find(pool, name).orElseThrow();

    TrashMove.move(pool, name, old);
    assertThat(pool.trashEntry(old)).isPresent();
    NameRemoval.forget(pool, name, old);
    assertThat(ImageId.find(pool, name)).contains(id);
    assertThat(rbdJson("ls", ceph.pool()).toString()).contains('"' + name + '"');

    NameRemoval.forget(pool, name, id);
    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(rbdJson("ls", ceph.pool()).toString()).doesNotContain('"' + name + '"');
    pool.create(name, OBJECT, with(MAPPED));
  }

  @Test
  void anImageWithoutHeaderIsNotFound() {
    pool.create(name, OBJECT, with(MAPPED));
    String id = ImageId.find(pool, name).orElseThrow();
    io.remove("rbd_header." + id);

    assertThatThrownBy(() -> TrashMove.move(pool, name, id))
        .isInstanceOf(CephException.NotFound.class);
    assertThatThrownBy(() -> HeaderNotification.isWatched(pool, id))
        .isInstanceOf(CephException.NotFound.class);
    NameRemoval.forget(pool, name, id);
    assertThat(io.objects()).doesNotContain("rbd_id." + name, "rbd_object_map." + id);
    assertThat(ImageHeader.idInDirectory(io, name)).isEmpty();
  }

  @Test
  void anImageIsWatchedWhileItIsOpenForWriting() {
    pool.create(name, OBJECT, with(MAPPED));
    String id = ImageId.find(pool, name).orElseThrow();
    assertThat(HeaderNotification.isWatched(pool, id)).isFalse();
    try (RbdImage image = pool.open(name)) {
      assertThat(HeaderNotification.isWatched(pool, id)).isTrue();
      image.write(0, filled(512, 1)); // the other one bears with being asked
    }
    assertThat(HeaderNotification.isWatched(pool, id)).isFalse();
  }

  /** The header's keys, without the times and the name of the data objects. */
  private static Map<String, String> header(String id) {
    Map<String, String> keys = new TreeMap<>();
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetVals("", "", 1000);
      io.operate("rbd_header." + id, read);
      values.get().values().forEach((key, value) -> keys.put(key, HexFormat.of().formatHex(value)));
    }
    assertThat(keys).containsKeys("create_timestamp", "object_prefix");
    keys.keySet().removeIf(key -> key.endsWith("_timestamp"));
    keys.computeIfPresent(
        "object_prefix",
        (key, value) ->
            new String(HexFormat.of().parseHex(value), UTF_8).substring(4).replace(id, ""));
    return keys;
  }

  private static byte[] bytes(String object) {
    try {
      return io.read(object, 0, 1 << 20);
    } catch (CephException.NotFound e) {
      return new byte[0];
    }
  }

  /** An entry of the trash with the name and the two times blanked. */
  private static byte[] trashEntryWithoutTimes(String id, String imageName) {
    JsonNode listed = null;
    for (JsonNode entry : rbdJson("trash", "ls", ceph.pool(), "--all")) {
      listed = entry.get("id").asText().equals(id) ? entry : listed;
    }
    assertThat(listed).isNotNull();
    String key = "id_" + id;
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(key));
      io.operate("rbd_trash", read);
      byte[] value = values.get().get(key);
      int beforeName = 7 + 4; // version, length, source; length of the name
      int behindTimes = beforeName + imageName.length() + 16;
      byte[] rest = Arrays.copyOfRange(value, behindTimes, value.length);
      byte[] blanked = Arrays.copyOf(value, 7 + rest.length);
      blanked[2] -= (byte) imageName.length();
      System.arraycopy(rest, 0, blanked, 7, rest.length);
      return blanked;
    }
  }
}
