package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageUsage.Method;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageFlag;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which way the usage is measured: by maps that can be trusted, else by those who ask objects. */
class UsageMethodIT extends UsageCase {
  /** Takes the checksums from a stored map, as old releases of Ceph wrote it. */
  private byte[] withoutChecksums(long snapshotId, int objects) {
    String object = ObjectMap.object(id(), snapshotId);
    byte[] stored = io.read(object, 0, 4096);
    byte[] cut = Arrays.copyOf(stored, 18 + (objects + 3) / 4 + 4);
    Arrays.fill(cut, cut.length - 4, cut.length, (byte) 0); // the length of the footer
    io.writeFull(object, cut);
    return cut;
  }

  @Test
  void aMapWithoutChecksumsIsLeftToFastDiff() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
      image.snapshots().create("s");
      scribble(image, 10, SEED + 1);
      image.discard(49L * OBJECT, OBJECT);
    }
    long allocated = meter.byObjectMap(id()).orElseThrow().headBytes();
    byte[] map = withoutChecksums(0, 50);
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertSameAsDiskUsage(Method.FAST_DIFF);
    assertThat(meter.measure(id(), UsageQuery.QUICK)).isPresent();
    // It really is the map that answers: it can name an object that is not there.
    map[18 + 49 / 4] |= (byte) (1 << (6 - 2 * (49 % 4)));
    io.writeFull(ObjectMap.object(id(), 0), map);
    ImageUsage usage = meter.measure(id(), UsageQuery.QUICK).orElseThrow();
    assertThat(usage.method()).isEqualTo(Method.FAST_DIFF);
    assertThat(usage.headBytes()).isEqualTo(allocated + OBJECT);
    assertThat(asDiskUsage(usage)).isEqualTo(diskUsage());
  }

  @Test
  void aSnapshotWhoseMapIsNotValidIsWalkedIfAllowed() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
      image.snapshots().create("s");
      scribble(image, 10, SEED + 1);
    }
    long snapshot = meter.byObjectMap(id()).orElseThrow().snapshots().get(0).id();
    long invalid = 3; // RBD_FLAG_OBJECT_MAP_INVALID, RBD_FLAG_FAST_DIFF_INVALID
    ByteBuffer flags = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
    io.exec(
        ImageHeader.object(id()),
        "rbd",
        "set_flags",
        flags.putLong(invalid).putLong(invalid).putLong(snapshot).array(),
        16);
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertThat(meter.measure(id(), UsageQuery.QUICK)).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
  }

  @Test
  void aDamagedMapLeadsToNoWalkThatIsNotAllowed() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    io.truncate(ObjectMap.object(id(), 0), 20);
    // No flag says so yet: librbd would find out, and ask every object without a word.
    assertThat(meter.measure(id(), UsageQuery.QUICK)).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
  }

  @Test
  void allWalksCountAndCanBeStopped() {
    create(PLAIN, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    // The first piece is asked for in any case: it takes no longer than a second.
    assertThat(meter.measure(id(), walk(50), () -> true)).isPresent();
    assertThat(meter.measure(id(), walk(49))).isEmpty();
    try (RbdImage image = pool.open(name)) {
      image.snapshots().create("s");
      scribble(image, 10, SEED + 1);
    }
    // The snapshot, what changed since, and the head.
    assertThat(meter.measure(id(), walk(150))).isPresent();
    assertThat(meter.measure(id(), walk(149))).isEmpty();
    assertThat(meter.measure(id(), walk(150), () -> true)).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
  }

  private static UsageQuery walk(long objects) {
    return new UsageQuery(false, false, objects);
  }

  @Test
  void aDamagedMapIsNotBelieved() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    byte[] stored = io.read(ObjectMap.object(id(), 0), 0, 4096);
    assertThat(ObjectMap.decode(stored, 50)).isPresent();
    for (int bit = 18 * 8; bit < (18 + 13) * 8; bit++) {
      byte[] damaged = stored.clone();
      damaged[bit / 8] ^= (byte) (1 << bit % 8);
      assertThat(ObjectMap.decode(damaged, 50)).as("bit %s", bit).isEmpty();
    }
    io.writeFull(ObjectMap.object(id(), 0), new byte[] {1, 2, 3});
    assertThat(meter.byObjectMap(id())).isEmpty();
    // librbd finds the damage too, and marks the map as not valid: then objects are asked.
    ImageUsage usage = meter.measure(id(), EVERYTHING).orElseThrow();
    assertThat(usage.method()).isNotEqualTo(Method.OBJECT_MAP);
    assertThat(asDiskUsage(usage)).isEqualTo(diskUsage());
  }

  @Test
  void aMapMarkedAsNotValidIsNotBelieved() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    io.truncate(ObjectMap.object(id(), 0), 3);
    try (RbdImage image = pool.open(name)) {
      image.write(0, filled(512, 1)); // takes the lock, loads the map, finds it damaged
      image.flush();
      assertThat(image.flags()).contains(ImageFlag.OBJECT_MAP_INVALID);
    }
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
    try (RbdImage image = pool.open(name)) {
      image.rebuildObjectMap(Progress.NONE);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void withoutAnObjectMapEveryObjectIsAskedIfAllowed() {
    create(LOCKED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertThat(meter.measure(id(), UsageQuery.QUICK)).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
  }

  @Test
  void withoutFastDiffTheObjectMapIsNotUsed() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      image.updateFeatures(Set.of(ImageFeature.FAST_DIFF), false);
      scribble(image, 30, SEED);
    }
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
  }
}
