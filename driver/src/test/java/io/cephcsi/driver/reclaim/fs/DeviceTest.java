package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeviceTest {
  private final List<Long> lengths = new ArrayList<>();

  /** 16 MiB in which each byte tells the block of 4 KiB that it is in. */
  private final BlockReader reader =
      new BlockReader() {
        @Override
        public long size() {
          return 16 << 20;
        }

        @Override
        public void read(long offset, ByteBuffer into) {
          lengths.add((long) into.remaining());
          for (long at = offset; into.hasRemaining(); at++) {
            into.put((byte) (at / 4096));
          }
        }
      };

  @Test
  void readsNeighboursTogether() throws IOException {
    long[] offsets = {0, 4096, 3 * 4096, 1 << 20, (1 << 20) + 4096};
    ByteBuffer[] blocks =
        new Device(reader, InspectionMemory.of(() -> false))
            .readBlocks(offsets, 4096, ByteOrder.BIG_ENDIAN);
    assertThat(lengths).containsExactly(4 * 4096L, 2 * 4096L);
    for (int i = 0; i < offsets.length; i++) {
      assertThat(blocks[i].get(4095)).isEqualTo((byte) (offsets[i] / 4096));
    }
  }

  @Test
  void readsNoMoreThanOneMebibyteAtOnce() throws IOException {
    long[] offsets = new long[3000];
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = i * 4096L;
    }
    new Device(reader, InspectionMemory.of(() -> false))
        .readBlocks(offsets, 4096, ByteOrder.BIG_ENDIAN);
    assertThat(lengths)
        .hasSize(12)
        .startsWith(1L << 20, 1L << 20)
        .endsWith((3000L - 11 * 256) * 4096);
  }

  @Test
  void refusesToReadOutsideOfAPart() throws IOException {
    Device part = new Device(reader, InspectionMemory.of(() -> false)).part(4096, 8192);
    assertThat(part.read(4096, 1, ByteOrder.BIG_ENDIAN).get(0)).isEqualTo((byte) 2);
    assertThatThrownBy(() -> part.read(8000, 500, ByteOrder.BIG_ENDIAN))
        .isInstanceOf(Refusal.class);
    assertThatThrownBy(() -> part.read(-1, 1, ByteOrder.BIG_ENDIAN)).isInstanceOf(Refusal.class);
    assertThatThrownBy(() -> part.part(0, 8193)).isInstanceOf(Refusal.class);
  }
}
