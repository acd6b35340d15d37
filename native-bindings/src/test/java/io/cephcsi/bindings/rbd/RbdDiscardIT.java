package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

class RbdDiscardIT extends RbdCase {
  private static final int OBJECTS = 24;

  /** Objects of data of which the second half of every third one, or all of it, is discarded. */
  private long allocatedAfter(Discarder discarder) {
    create(MAPPED, OBJECTS);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, OBJECTS, 1);
      assertThat(allocatedBytes()).isEqualTo((long) OBJECTS * OBJECT);
      discarder.discard(image);
      image.flush();
      for (int i = 0; i < OBJECTS; i++) {
        byte expected = (byte) (i % 3 == 0 ? 0 : 1);
        assertThat(image.read((long) i * OBJECT + OBJECT - 1, 1)[0]).isEqualTo(expected);
      }
    }
    return allocatedBytes();
  }

  private static long offset(int object) {
    return (long) object * OBJECT + OBJECT - length(object);
  }

  private static long length(int object) {
    return object % 2 == 0 ? OBJECT : OBJECT / 2;
  }

  @Test
  void synchronousAsynchronousAndPipelinedDiscardsFreeTheSame() {
    long synchronous =
        allocatedAfter(
            image -> {
              for (int i = 0; i < OBJECTS; i += 3) {
                image.discard(offset(i), length(i));
              }
            });
    chooseName();
    long asynchronous =
        allocatedAfter(
            image -> {
              Deque<RbdCompletion> running = new ArrayDeque<>();
              for (int i = 0; i < OBJECTS; i += 3) {
                running.add(image.discardAsync(offset(i), length(i)));
              }
              while (!running.isEmpty()) {
                try (RbdCompletion completion = running.remove()) {
                  assertThat(completion.await()).isZero();
                  assertThat(completion.isComplete()).isTrue();
                }
              }
            });
    chooseName();
    long pipelined =
        allocatedAfter(
            image -> {
              try (DiscardPipeline pipeline = image.discardPipeline(3)) {
                for (int i = 0; i < OBJECTS; i += 3) {
                  pipeline.discard(offset(i), length(i));
                }
                pipeline.drain();
                assertThat(pipeline.discardedBytes()).isEqualTo(6L * OBJECT);
              }
            });
    assertThat(synchronous).isEqualTo(18L * OBJECT);
    assertThat(asynchronous).isEqualTo(synchronous);
    assertThat(pipelined).isEqualTo(synchronous);
  }

  @Test
  void aPipelineStartsNothingThatIsNotWantedAnyMore() {
    create(MAPPED, 2);
    try (RbdImage image = pool.open(name);
        DiscardPipeline pipeline = image.discardPipeline(1)) {
      fill(image, 0, 2, 1);
      assertThat(pipeline.discard(0, OBJECT, () -> false)).isTrue();
      assertThat(pipeline.discard(OBJECT, OBJECT, () -> true)).isFalse();
      pipeline.drain();
      assertThat(pipeline.discardedBytes()).isEqualTo(OBJECT);
    }
    assertThat(allocatedBytes()).isEqualTo(OBJECT);
  }

  @Test
  void aPipelineStopsAtTheFirstFailureAndSaysWhere() {
    create(PLAIN, 8);
    try (RbdImage image = pool.openReadOnly(name);
        DiscardPipeline pipeline = image.discardPipeline(2)) {
      pipeline.discard(0, OBJECT);
      pipeline.discard(OBJECT, OBJECT);
      assertThatThrownBy(() -> pipeline.discard(2L * OBJECT, OBJECT))
          .isInstanceOfSatisfying(
              CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EROFS))
          .hasMessageContaining("at 0, length " + OBJECT);
      assertThatThrownBy(() -> pipeline.discard(0, OBJECT)).isInstanceOf(CephException.class);
      assertThatThrownBy(pipeline::drain).isInstanceOf(CephException.class);
      assertThat(pipeline.discardedBytes()).isZero();
    }
  }

  @Test
  void aPipelineKeepsItsImageOpenAndEndsWhatRunsWhenItIsClosed() {
    create(MAPPED, OBJECTS);
    RbdImage image = pool.open(name);
    fill(image, 0, OBJECTS, 1);
    DiscardPipeline pipeline = image.discardPipeline(OBJECTS);
    for (int i = 0; i < OBJECTS; i++) {
      pipeline.discard((long) i * OBJECT, OBJECT);
    }
    assertThatThrownBy(image::close).isInstanceOf(IllegalStateException.class);
    pipeline.close();
    pipeline.close();
    assertThatThrownBy(() -> pipeline.discard(0, 1)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(pipeline::drain).isInstanceOf(IllegalStateException.class);
    assertThat(pipeline.discardedBytes()).isEqualTo((long) OBJECTS * OBJECT);
    image.close();
    assertThat(allocatedBytes()).isZero();
    try (RbdImage again = pool.open(name)) {
      assertThatThrownBy(() -> again.discardPipeline(0))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void asynchronousReadsWritesAndFlushesMoveData() {
    create(PLAIN, 4);
    try (RbdImage image = pool.open(name)) {
      try (RbdCompletion write = image.writeAsync(1000, filled(200_000, 6));
          RbdCompletion flush = image.flushAsync()) {
        write.await();
        flush.await();
      }
      try (RbdCompletion read = image.readAsync(900, 200_000);
          RbdCompletion end = image.readAsync(4L * OBJECT - 10, 100);
          RbdCompletion beyond = image.readAsync(4L * OBJECT + 10, 100)) {
        assertThat(read.awaitBytes()).startsWith(new byte[100]).endsWith(6).hasSize(200_000);
        assertThat(end.await()).isEqualTo(10);
        assertThat(end.awaitBytes()).isEqualTo(new byte[10]);
        assertThatThrownBy(beyond::await).isInstanceOf(CephException.class);
      }
      image.writeAsync(0, filled(OBJECT, 4)).close();
      assertThat(image.read(OBJECT - 1, 1)).isEqualTo(filled(1, 4));
    }
  }

  /** Discards every third object. */
  private interface Discarder {
    void discard(RbdImage image);
  }
}
