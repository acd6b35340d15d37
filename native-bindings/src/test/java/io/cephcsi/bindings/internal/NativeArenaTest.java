package io.cephcsi.bindings.internal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.testing.ProcessState;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NativeArenaTest {
  private static final int BLOCK = 64 << 10;

  private NativeArena arena;
  private long start;

  @BeforeEach
  void open() {
    arena = NativeArena.open();
    start = arena.allocate(8);
  }

  @AfterEach
  void close() {
    arena.close();
  }

  /** Takes memory until {@code bytes} of the thread's block are left, and gives its end. */
  private long leave(int bytes) {
    int rest = BLOCK - 8 - bytes;
    long filler = arena.allocate(rest);
    assertThat(filler).isEqualTo(start + 8);
    return start + BLOCK;
  }

  private boolean inBlock(long address) {
    return address >= start && address < start + BLOCK;
  }

  @Test
  void aClosedFrameGivesItsMemoryBack() {
    long first;
    try (NativeArena inner = NativeArena.open()) {
      assertThat(inner).isSameAs(arena);
      first = inner.allocate(100);
      try (NativeArena innermost = NativeArena.open()) {
        assertThat(innermost.allocate(1)).isEqualTo(first + 104);
      }
      assertThat(inner.allocate(1)).isEqualTo(first + 104);
    }
    assertThat(arena.allocate(1)).isEqualTo(first);
  }

  @Test
  void anInnerFrameLeavesTheOuterOnesMemoryAlone() {
    long kept = arena.cString("kept");
    long big = arena.bytes(new byte[BLOCK]);
    try (NativeArena inner = NativeArena.open()) {
      inner.cString("other");
      inner.bytes(new byte[BLOCK]);
    }
    assertThat(NativeMemory.cString(kept)).isEqualTo("kept");
    assertThat(arena.getBytes(big, BLOCK)).containsOnly(0);
  }

  @Test
  void everyAddressIsAlignedAndApart() {
    long before = start;
    for (int size = 0; size < 70; size++) {
      long address = arena.allocate(size);
      assertThat(address % 8).isZero();
      assertThat(address).isGreaterThanOrEqualTo(before + 8);
      before = address;
    }
    assertThat(arena.allocate(BLOCK) % 8).isZero();
  }

  @Test
  void whatFillsTheBlockExactlyIsInItAndOneByteMoreIsNot() {
    long end = leave(16);
    try (NativeArena inner = NativeArena.open()) {
      assertThat(inBlock(inner.allocate(17))).isFalse();
      assertThat(inner.allocate(16)).isEqualTo(end - 16);
      assertThat(inBlock(inner.allocate(1))).isFalse();
    }
    assertThat(arena.allocate(16)).isEqualTo(end - 16);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 8, 16, 64})
  void stringsAroundTheBlocksEndAreWhole(int left) {
    leave(left + 8);
    long guard = arena.cell(0x1122334455667788L);
    for (int length = 0; length <= left + 20; length++) {
      for (String letter : List.of("a", "é", "語", "𐍈")) {
        String text = letter.repeat(length);
        try (NativeArena inner = NativeArena.open()) {
          long address = inner.cString(text);
          long next = inner.cell(-1);
          int size = text.getBytes(UTF_8).length;
          assertThat(NativeMemory.cString(address)).isEqualTo(text);
          assertThat(inBlock(address)).as("%d bytes of %d", size, left).isEqualTo(size + 1 <= left);
          assertThat(inner.getByte(address + size)).isZero();
          assertThat(inner.getLong(next)).isEqualTo(-1);
          assertThat(inner.getLong(guard)).isEqualTo(0x1122334455667788L);
        }
      }
    }
  }

  @Test
  void aStringThatEndsAtTheBlocksEndLeavesNothing() {
    long end = leave(8);
    assertThat(arena.cString("1234567")).isEqualTo(end - 8);
    assertThat(inBlock(arena.allocate(1))).isFalse();
    assertThat(NativeMemory.cString(end - 8)).isEqualTo("1234567");
  }

  @Test
  void valuesAreReadBackFromBlockAndOutside() {
    for (int round = 0; round < 2; round++) {
      long cell = arena.cell(Long.MIN_VALUE + 1);
      long array = arena.longs(new long[] {1, -2, Long.MAX_VALUE});
      long bytes = arena.bytes(new byte[] {-1, 0, 1});
      assertThat(inBlock(cell)).isEqualTo(round == 0);
      assertThat(arena.getLong(cell)).isEqualTo(Long.MIN_VALUE + 1);
      assertThat(arena.getInt(cell)).isEqualTo(1);
      assertThat(arena.getLong(array + 8)).isEqualTo(-2);
      assertThat(arena.getLong(array + 16)).isEqualTo(Long.MAX_VALUE);
      assertThat(arena.getBytes(bytes, 3)).containsExactly(-1, 0, 1);
      assertThat(NativeMemory.bytes(bytes, 3)).containsExactly(-1, 0, 1);
      assertThat(arena.bytes(new byte[0])).isNotZero();
      assertThat(arena.longs(new long[0])).isNotZero();
      if (round == 0) {
        arena.allocate(start + BLOCK - arena.allocate(8) - 8);
      }
    }
  }

  @Test
  void zeroCharactersAreRefusedAndTakeNoMemory() {
    for (String bad : List.of("\0", "a\0b", "end\0", "é\0", "\0é", "x".repeat(BLOCK) + "\0")) {
      assertThatThrownBy(() -> arena.cString(bad)).isInstanceOf(IllegalArgumentException.class);
    }
    assertThat(arena.allocate(8)).isEqualTo(start + 8);
  }

  @Test
  void charactersThatUtf8CannotHoldAreRefusedInsteadOfReplaced() {
    for (String bad : List.of("\ud800", "a\udc00b", "é\ud800")) {
      assertThatThrownBy(() -> arena.cString(bad)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void negativeSizesAreRefused() {
    assertThatThrownBy(() -> arena.allocate(-1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> arena.allocate(Long.MIN_VALUE))
        .isInstanceOf(IllegalArgumentException.class);
    try (OwnedMemory memory = new OwnedMemory()) {
      assertThatThrownBy(() -> memory.allocate(-1)).isInstanceOf(IllegalArgumentException.class);
      assertThat(NativeMemory.getByte(memory.allocate(0))).isZero();
    }
  }

  @Test
  void sizesBeyondTheAddressSpaceAreOutOfMemory() {
    assertThatThrownBy(() -> arena.allocate(Long.MAX_VALUE >> 2))
        .isInstanceOf(OutOfMemoryError.class);
    assertThatThrownBy(() -> arena.allocate(Long.MAX_VALUE)).isInstanceOf(OutOfMemoryError.class);
  }

  @Test
  void lengthsInUtf8AreThoseOfTheBytes() {
    for (String text : List.of("", "ascii", "é", "ключ", "語", "a𐍈z", "\u007f\u0080")) {
      assertThat(NativeArena.utf8Length(text)).isEqualTo(text.getBytes(UTF_8).length);
    }
  }

  @Test
  void theSeventeenthFrameIsRefusedAndTheOthersGoOn() {
    List<NativeArena> frames = new ArrayList<>();
    for (int depth = 1; depth < 16; depth++) {
      frames.add(NativeArena.open());
    }
    assertThatThrownBy(NativeArena::open)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("16");
    assertThat(NativeMemory.cString(arena.cString("still usable"))).isEqualTo("still usable");
    frames.forEach(NativeArena::close);
    assertThat(arena.allocate(8)).isEqualTo(start + 8);
  }

  @Test
  void eachThreadHasItsOwnBlock() throws InterruptedException {
    AtomicLong other = new AtomicLong();
    Thread thread =
        new Thread(
            () -> {
              try (NativeArena theirs = NativeArena.open()) {
                other.set(theirs.allocate(8));
              }
            });
    thread.start();
    thread.join();
    assertThat(inBlock(other.get())).isFalse();
  }

  @Test
  void whatDidNotFitIsFreedWithItsFrame() {
    byte[] megabyte = new byte[1 << 20];
    long before = ProcessState.mallocBytes();
    for (int i = 0; i < 500; i++) {
      try (NativeArena inner = NativeArena.open()) {
        inner.bytes(megabyte);
      }
    }
    // Kept, they would be 500 MiB.
    assertThat(ProcessState.mallocBytes() - before).isLessThan(50L << 20);
  }
}
