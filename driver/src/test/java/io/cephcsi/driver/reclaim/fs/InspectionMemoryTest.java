package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class InspectionMemoryTest {
  private static final long MIB = 1 << 20;

  /** Of a heap of 32 MiB: two shares, 9 MiB of tables, 1 MiB of ranges. */
  private final InspectionMemory.Shared shared = new InspectionMemory.Shared(32 * MIB);

  private InspectionMemory memory(boolean stop) {
    return InspectionMemory.of(shared, () -> stop);
  }

  private static RangePlans ranges(int count) {
    RangePlan plan = new RangePlan(0, 512, 16 * MIB);
    for (int i = 0; i < count; i++) {
      plan.add(10L * i, 1 + i % 2);
    }
    return new RangePlans(16 * MIB).add(plan.finish());
  }

  @Test
  void whatFitsNoTurnIsRefused() {
    try (InspectionMemory memory = memory(true)) {
      memory.begin();
      memory.take(9 * MIB);
      assertThatThrownBy(() -> memory.take(1))
          .isInstanceOfSatisfying(
              Refusal.class,
              refusal ->
                  assertThat(refusal.of(FileSystemKind.FAT).reason())
                      .isEqualTo(RefusalReason.TOO_LARGE));
      memory.giveAllBut(0);
      memory.take(9 * MIB);
    }
    assertThat(shared.isUnused(2)).isTrue();
  }

  @Test
  void oneWaitsForAShareAndForTheTurnUntilItIsToldToStop() {
    try (InspectionMemory first = memory(false);
        InspectionMemory second = memory(true);
        InspectionMemory third = memory(true)) {
      first.begin();
      first.take(2 * MIB);
      second.begin();
      second.take(MIB);
      assertThatThrownBy(() -> second.take(1)).isInstanceOf(InspectionStopped.class);
      assertThatThrownBy(third::begin).isInstanceOf(InspectionStopped.class);
      first.end();
      second.take(1);
      third.begin();
    }
    assertThat(shared.isUnused(2)).isTrue();
  }

  @Test
  void rangesStayUntilTheyAreNotUsedAndAreCutWhereThereIsTooLittle() {
    int count = 1_000_000;
    List<InspectionMemory> all = new ArrayList<>();
    List<Long> kept = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      InspectionMemory memory = memory(true);
      memory.begin();
      RangePlans plans = ranges(count);
      memory.end(plans);
      assertThat(plans.bytes() + plans.omittedBytes()).isEqualTo(count / 2 * 3L * 512);
      kept.add(plans.encodedBytes());
      all.add(memory);
    }
    assertThat(kept.stream().mapToLong(bytes -> bytes).sum()).isLessThanOrEqualTo(5 * MIB / 2);
    assertThat(shared.isUnused(2)).isTrue();
    all.forEach(InspectionMemory::close);
    RangePlans again = ranges(30_000);
    try (InspectionMemory memory = memory(true)) {
      memory.end(again);
      assertThat(again.omittedBytes()).as("all fit again").isZero();
    }
  }

  @Test
  void manyAtOnceComeToAnEnd() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(12);
    AtomicInteger large = new AtomicInteger();
    List<Future<?>> done = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      Random random = new Random(i);
      done.add(
          threads.submit(
              () -> {
                try (InspectionMemory memory = memory(false)) {
                  memory.begin();
                  memory.take(random.nextInt((int) MIB));
                  if (random.nextBoolean()) {
                    memory.take(2 * MIB);
                    assertThat(large.incrementAndGet()).isEqualTo(1);
                    Thread.sleep(random.nextInt(3));
                    large.decrementAndGet();
                  }
                  memory.end(ranges(random.nextInt(20_000)));
                }
                return null;
              }));
    }
    for (Future<?> each : done) {
      each.get(50, TimeUnit.SECONDS);
    }
    threads.shutdown();
    assertThat(shared.isUnused(2)).isTrue();
  }

  @Test
  void aSurveyGivesBackAllButItsRangesWhateverItFinds() throws IOException {
    byte[] ext = new TinyExt(new Random(3)).bytes;
    for (byte[] image : List.of(ext, TinyDisk.guid(ext, TinyDos.fat()).bytes, new byte[4096])) {
      try (InspectionMemory memory = memory(true)) {
        FileSystems.survey(new MemoryImage(image), memory);
        assertThat(shared.isUnused(2)).isTrue();
        assertThat(memory.taken()).isZero();
      }
    }
    BlockReader failing =
        new BlockReader() {
          @Override
          public long size() {
            return 1 << 20;
          }

          @Override
          public void read(long offset, ByteBuffer into) throws IOException {
            throw new IOException("no");
          }
        };
    try (InspectionMemory memory = memory(true)) {
      assertThatThrownBy(() -> FileSystems.survey(failing, memory)).isInstanceOf(IOException.class);
    }
    assertThat(shared.isUnused(2)).isTrue();
  }

  @Test
  void gapsBetweenBlocksAreNotKept() throws IOException {
    long[] offsets = new long[64];
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = i * (16L << 10);
    }
    Device device = new Device(new MemoryImage(new byte[2 << 20]), memory(true));
    for (ByteBuffer block : device.readBlocks(offsets, 512, ByteOrder.LITTLE_ENDIAN)) {
      assertThat(block.arrayOffset()).isZero();
      assertThat(block.array()).hasSize(512);
    }
  }
}
