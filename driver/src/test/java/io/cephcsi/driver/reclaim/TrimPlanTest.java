package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.driver.reclaim.TrimPlan.Sharing;
import io.cephcsi.driver.reclaim.fs.FreeRange;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TrimPlanTest {
  private static final long KIB = 1024;
  private static final long OBJECT = 4096 * KIB;
  private static final long GRANULARITY = 64 * KIB;
  private static final List<Sharing> SHARINGS =
      List.of(Sharing.NONE, Sharing.BY_MAP, Sharing.UNKNOWN);

  private record Discard(long offset, long length, boolean whole) {}

  private static ImageLayout plain(long size) {
    return new ImageLayout(size, OBJECT, OBJECT, 1);
  }

  private static List<Discard> plan(
      ImageLayout layout, Set<Long> existing, long overlap, Sharing sharing, FreeRange... free) {
    ObjectMap map = ObjectMap.of(layout.objects(), existing::contains);
    List<Discard> discards = new ArrayList<>();
    new TrimPlan(
            visitor -> List.of(free).forEach(visitor::visit),
            layout,
            map,
            overlap,
            sharing,
            GRANULARITY)
        .forEach((offset, length, whole) -> discards.add(new Discard(offset, length, whole)));
    return discards;
  }

  @Test
  void wholeObjectsThatExistAreDiscardedAndPartsAreRoundedInwards() {
    FreeRange free = new FreeRange(OBJECT - 100 * KIB, 3 * OBJECT + 200 * KIB);
    assertThat(plan(plain(10 * OBJECT), Set.of(0L, 1L, 3L, 4L, 7L), 0, Sharing.NONE, free))
        .containsExactly(
            new Discard(OBJECT - 64 * KIB, 64 * KIB, false),
            new Discard(OBJECT, OBJECT, true),
            new Discard(3 * OBJECT, OBJECT, true),
            new Discard(4 * OBJECT, 64 * KIB, false));
  }

  @Test
  void partsShorterThanTheGranularityAreLeft() {
    FreeRange free = new FreeRange(10 * KIB, 110 * KIB);
    assertThat(plan(plain(OBJECT), Set.of(0L), 0, Sharing.NONE, free)).isEmpty();
  }

  @Test
  void objectsThatAreNotLongerThanTheGranularityAreCutOff() {
    long object = GRANULARITY;
    ImageLayout layout = new ImageLayout(10 * object, object, object, 1);
    FreeRange free = new FreeRange(object + 4 * KIB, 2 * object);
    assertThat(plan(layout, Set.of(0L, 1L, 2L, 3L), 0, Sharing.NONE, free))
        .containsExactly(
            new Discard(object + 4 * KIB, object - 4 * KIB, false),
            new Discard(2 * object, object, true));
  }

  @Test
  void theLastObjectOfAnOddSizeCountsAsWhole() {
    long size = 2 * OBJECT + 100;
    FreeRange free = new FreeRange(2 * OBJECT, 100);
    assertThat(plan(plain(size), Set.of(2L), 0, Sharing.NONE, free))
        .containsExactly(new Discard(2 * OBJECT, 100, true));
  }

  @Test
  void aFileSystemBeyondTheImageIsCut() {
    FreeRange free = new FreeRange(0, 100 * OBJECT);
    assertThat(plan(plain(OBJECT), Set.of(0L), 0, Sharing.NONE, free))
        .containsExactly(new Discard(0, OBJECT, true));
  }

  @Test
  void unknownSharingDiscardsOnlyWholeObjectsBeyondTheParent() {
    FreeRange free = new FreeRange(0, 3 * OBJECT + 128 * KIB);
    assertThat(plan(plain(9 * OBJECT), Set.of(0L, 1L, 2L, 3L), 2 * OBJECT, Sharing.UNKNOWN, free))
        .containsExactly(new Discard(2 * OBJECT, OBJECT, true));
  }

  @Test
  void smallObjectsThatFollowOneAnotherAreDiscardedTogether() {
    ImageLayout layout = new ImageLayout(100 << 20, 1 << 20, 1 << 20, 1);
    FreeRange free = new FreeRange(0, 100 << 20);
    assertThat(plan(layout, Set.of(1L, 2L, 3L, 4L, 5L, 9L), 0, Sharing.NONE, free))
        .containsExactly(
            new Discard(1 << 20, 4 << 20, true),
            new Discard(5 << 20, 1 << 20, true),
            new Discard(9 << 20, 1 << 20, true));
  }

  @Test
  void aStripedImageIsDiscardedByWholeSets() {
    ImageLayout layout = new ImageLayout(30L << 20, 1 << 20, 64 << 10, 3);
    FreeRange free = new FreeRange(1 << 20, 20 << 20);
    assertThat(plan(layout, Set.of(0L, 3L, 9L, 22L), 0, Sharing.NONE, free))
        .containsExactly(new Discard(3 << 20, 3 << 20, true), new Discard(9 << 20, 3 << 20, true));
    // In a clone, a set with an object that is not there would show in part what lies below.
    assertThat(plan(layout, Set.of(3L, 4L, 5L, 9L), 30 << 20, Sharing.NONE, free))
        .containsExactly(new Discard(3 << 20, 3 << 20, true));
  }

  private static Discarded sum(
      ImageLayout layout, Set<Long> existing, long overlap, FreeRange... free) {
    ObjectMap map = ObjectMap.of(layout.objects(), existing::contains);
    return new TrimPlan(
            visitor -> List.of(free).forEach(visitor::visit),
            layout,
            map,
            overlap,
            Sharing.NONE,
            GRANULARITY)
        .sum();
  }

  @Test
  void theSumTellsObjectsThatGoFromBytesInsideObjectsThatStay() {
    FreeRange free = new FreeRange(OBJECT - 100 * KIB, 3 * OBJECT + 200 * KIB);
    assertThat(sum(plain(10 * OBJECT), Set.of(0L, 1L, 3L, 4L, 7L), 0, free))
        .isEqualTo(new Discarded(2 * OBJECT + 128 * KIB, 2, 128 * KIB, 4));
    FreeRange parts = new FreeRange(64 * KIB, OBJECT - 64 * KIB);
    assertThat(sum(plain(OBJECT), Set.of(0L), 0, parts))
        .isEqualTo(new Discarded(OBJECT - 64 * KIB, 0, OBJECT - 64 * KIB, 1));
  }

  @Test
  void objectsThatAreEmptiedAndStayAreNoObjectsThatGo() {
    FreeRange free = new FreeRange(0, 3 * OBJECT);
    // Above a parent's data an empty object hides it.
    assertThat(sum(plain(3 * OBJECT), Set.of(0L, 1L, 2L), OBJECT, free))
        .isEqualTo(new Discarded(3 * OBJECT, 2, OBJECT, 3));
    // librbd removes an object for a discard of its whole length only.
    assertThat(sum(plain(2 * OBJECT + 128 * KIB), Set.of(1L, 2L), 0, free))
        .isEqualTo(new Discarded(OBJECT + 128 * KIB, 1, 128 * KIB, 2));
  }

  @Test
  void theSumCountsEachSmallObjectAndOfStripedSetsThoseThatExist() {
    ImageLayout small = new ImageLayout(100 << 20, 1 << 20, 1 << 20, 1);
    assertThat(sum(small, Set.of(1L, 2L, 3L, 4L, 5L, 9L), 0, new FreeRange(0, 100 << 20)))
        .isEqualTo(new Discarded(6 << 20, 6, 0, 6));
    ImageLayout striped = new ImageLayout(30L << 20, 1 << 20, 64 << 10, 3);
    assertThat(sum(striped, Set.of(0L, 3L, 4L, 9L, 22L), 0, new FreeRange(1 << 20, 20 << 20)))
        .isEqualTo(new Discarded(6 << 20, 3, 0, 3));
  }

  @Test
  void nothingOutsideTheFreeRangesIsEverDiscarded() {
    Random random = new Random(7);
    for (int round = 0; round < 2000; round++) {
      int order = 12 + random.nextInt(10);
      long objectSize = 1L << order;
      int stripes = random.nextInt(3) == 0 ? 2 + random.nextInt(4) : 1;
      long unit = stripes > 1 ? objectSize >> random.nextInt(3) : objectSize;
      long size = 1 + random.nextLong(objectSize * 40);
      ImageLayout layout = new ImageLayout(size, objectSize, unit, stripes);
      BitSet used = new BitSet();
      List<FreeRange> free = freeRanges(random, size, used);
      ObjectMap map = ObjectMap.of(layout.objects(), object -> random.nextBoolean());
      long overlap = random.nextBoolean() ? 0 : random.nextLong(size);
      Sharing sharing = SHARINGS.get(random.nextInt(3));
      long granularity = 4096L << random.nextInt(5);
      long[] last = {0};
      new TrimPlan(
              visitor -> free.forEach(visitor::visit), layout, map, overlap, sharing, granularity)
          .forEach(
              (offset, length, whole) -> {
                assertThat(offset).isGreaterThanOrEqualTo(last[0]);
                last[0] = offset + length;
                assertThat(last[0]).isLessThanOrEqualTo(size);
                int firstBlock = (int) (offset / 512);
                int endBlock = (int) ((last[0] + 511) / 512);
                int usedBlock = used.nextSetBit(firstBlock);
                assertThat(usedBlock < 0 || usedBlock >= endBlock).isTrue();
              });
    }
  }

  /** Random ranges in blocks of 512 bytes, and their complement. */
  private static List<FreeRange> freeRanges(Random random, long size, BitSet used) {
    List<FreeRange> free = new ArrayList<>();
    int blocks = (int) ((size + 511) / 512);
    used.set(0, blocks);
    int at = random.nextInt(100);
    while (at < blocks) {
      int length = Math.min(blocks - at, 1 + random.nextInt(1 + random.nextInt(20_000)));
      free.add(new FreeRange(at * 512L, length * 512L));
      used.clear(at, at + length);
      at += length + 1 + random.nextInt(1 + random.nextInt(5_000));
    }
    return free;
  }
}
