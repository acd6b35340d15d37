package io.cephcsi.bindings.profile;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.Completion;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.DiscardPipeline;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCase;
import io.cephcsi.bindings.rbd.RbdCompletion;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.testing.Recorded;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Test;

/** Native calls on a real cluster, as the flight recorder sees them. */
class NativeEventsIT extends RbdCase {
  private static final byte[] DATA = "not for the recording".getBytes(UTF_8);
  private static final int ENOENT = -2;
  private static final int EINVAL = -22;
  private static final int ENODATA = -61;
  private static final int ECANCELED = -125;

  private static List<RecordedEvent> recorded(Runnable work) {
    return Recorded.during(
        recording -> {
          recording.enable(RadosOperation.class);
          recording.enable(LibrbdCall.class);
          recording.enable(DiscardBatch.class);
        },
        work);
  }

  private static RecordedEvent only(List<RecordedEvent> events, String operation) {
    List<RecordedEvent> found =
        events.stream().filter(e -> e.getString("operation").equals(operation)).toList();
    assertThat(found).as(operation + " in " + events).hasSize(1);
    return found.get(0);
  }

  private static void assertEvent(
      RecordedEvent event, String kind, String field, String about, long bytes, int errno) {
    assertThat(event.getEventType().getName()).isEqualTo("io.cephcsi." + kind);
    assertThat(event.getString("pool")).isEqualTo(ceph.pool());
    assertThat(event.getString(field)).isEqualTo(about);
    assertThat(event.getLong("bytes")).isEqualTo(bytes);
    assertThat(event.getInt("errno")).isEqualTo(errno);
    assertThat(event.getDuration()).isPositive();
    assertThat(event.getStackTrace()).isNull();
  }

  @Test
  void radosOperationsTellPoolObjectBytesAndErrno() {
    List<RecordedEvent> events =
        recorded(
            () -> {
              io.writeFull(name, DATA);
              io.read(name, 0, 100);
              io.setXattr(name, "x", DATA);
              assertThatThrownBy(() -> io.getXattr(name, "absent"))
                  .isInstanceOf(CephException.class);
              try (WriteOperation write = new WriteOperation().omapSet("key", DATA);
                  Completion running = io.operateAsync(name, write)) {
                running.await();
                running.await(); // the answer is seen once
              }
              try (ReadOperation read = new ReadOperation().assertVersion(1)) {
                assertThatThrownBy(() -> io.operate(name, read)).isInstanceOf(CephException.class);
              }
              io.remove(name);
              assertThatThrownBy(() -> io.stat(name)).isInstanceOf(CephException.NotFound.class);
            });
    String kind = "RadosOperation";
    assertEvent(only(events, "rados_write_full"), kind, "object", name, DATA.length, 0);
    assertEvent(only(events, "rados_read"), kind, "object", name, DATA.length, 0);
    assertEvent(only(events, "rados_setxattr"), kind, "object", name, DATA.length, 0);
    assertEvent(only(events, "rados_getxattr"), kind, "object", name, 0, ENODATA);
    assertEvent(only(events, "rados_aio_write_op_operate"), kind, "object", name, 0, 0);
    assertThat(only(events, "rados_read_op_operate").getInt("errno")).isNegative();
    assertEvent(only(events, "rados_remove"), kind, "object", name, 0, 0);
    assertEvent(only(events, "rados_stat"), kind, "object", name, 0, ENOENT);
    assertThat(events).hasSize(8);
    assertThat(events.toString()).doesNotContain("not for the recording");
  }

  @Test
  void whatIsOnlyClosedIsSeenThen() {
    try (IoContext apart = cluster.openPool(ceph.pool(), "events")) {
      List<RecordedEvent> events =
          recorded(
              () -> {
                try (WriteOperation write = new WriteOperation().create();
                    WriteOperation differs = new WriteOperation().compareData(0, DATA)) {
                  apart.operateAsync(name, write).close();
                  apart.operateAsync(name, differs).close();
                }
                apart.remove(name);
              });
      assertThat(events).hasSize(3);
      assertThat(events).extracting(e -> e.getString("namespace")).containsOnly("events");
      assertThat(events).extracting(e -> e.getInt("errno")).containsExactly(0, ECANCELED, 0);
    }
  }

  @Test
  void librbdCallsTellPoolImageBytesAndErrno() {
    List<RecordedEvent> events =
        recorded(
            () -> {
              create(MAPPED, 4);
              try (RbdImage image = pool.open(name)) {
                image.write(0, DATA);
                try (RbdCompletion read = image.readAsync(0, 10)) {
                  assertThat(read.awaitBytes()).hasSize(10);
                }
                image.discardAsync(0, OBJECT).close();
                image.diff(Optional.empty(), 0, 4 * OBJECT, false, true, (at, size, there) -> true);
                image.snapshots().create("s");
                image.snapshots().remove("s");
                assertThatThrownBy(() -> image.write(8L * OBJECT, DATA))
                    .isInstanceOf(CephException.class);
              }
              pool.remove(name, Progress.NONE);
              assertThatThrownBy(() -> pool.rename(name, name + "-2"))
                  .isInstanceOf(CephException.NotFound.class);
            });
    List<RecordedEvent> calls = Recorded.of(events, "LibrbdCall");
    String kind = "LibrbdCall";
    assertEvent(only(calls, "rbd_create4"), kind, "image", name, 0, 0);
    assertEvent(only(calls, "rbd_open"), kind, "image", name, 0, 0);
    assertEvent(only(calls, "rbd_aio_read"), kind, "image", name, 10, 0);
    assertEvent(only(calls, "rbd_aio_discard"), kind, "image", name, OBJECT, 0);
    assertEvent(only(calls, "rbd_diff_iterate2"), kind, "image", name, 4 * OBJECT, 0);
    assertEvent(only(calls, "rbd_snap_create2"), kind, "image", name, 0, 0);
    assertEvent(only(calls, "rbd_snap_remove2"), kind, "image", name, 0, 0);
    assertEvent(only(calls, "rbd_close"), kind, "image", name, 0, 0);
    assertEvent(only(calls, "rbd_remove_with_progress"), kind, "image", name, 0, 0);
    assertEvent(only(calls, "rbd_rename"), kind, "image", name, 0, ENOENT);
    assertThat(calls)
        .filteredOn(e -> e.getString("operation").equals("rbd_write"))
        .extracting(e -> e.getInt("errno"))
        .containsExactly(0, EINVAL);
  }

  @Test
  void aPipelineIsABatchAndEachOfItsDiscardsACall() {
    create(MAPPED, 24);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 20, 1);
      List<RecordedEvent> events =
          recorded(
              () -> {
                try (DiscardPipeline pipeline = image.discardPipeline(4)) {
                  for (int i = 0; i < 20; i++) {
                    pipeline.discard((long) i * OBJECT, OBJECT);
                  }
                  pipeline.drain();
                  pipeline.discard(20L * OBJECT, OBJECT);
                  pipeline.drain();
                }
              });
      List<RecordedEvent> discards =
          events.stream()
              .filter(e -> e.getString("operation").equals("rbd_aio_discard"))
              .filter(e -> e.getEventType().getName().equals("io.cephcsi.LibrbdCall"))
              .toList();
      assertThat(discards).hasSize(21);
      discards.forEach(e -> assertEvent(e, "LibrbdCall", "image", name, OBJECT, 0));
      List<RecordedEvent> batches = Recorded.of(events, "DiscardBatch");
      assertThat(batches).extracting(e -> e.getLong("discards")).containsExactly(20L, 1L);
      assertEvent(batches.get(0), "DiscardBatch", "image", name, 20L * OBJECT, 0);
      assertThat(batches.get(0).getInt("inFlight")).isEqualTo(4);
      assertThat(batches.get(0).getDuration()).isGreaterThan(discards.get(0).getDuration());
    }
  }

  @Test
  void aDiscardThatFailsTellsItsErrno() {
    create(MAPPED, 2);
    try (RbdImage image = pool.open(name)) {
      List<RecordedEvent> events =
          recorded(
              () -> {
                try (DiscardPipeline pipeline = image.discardPipeline(2)) {
                  assertThatThrownBy(
                          () -> {
                            pipeline.discard(8L * OBJECT, OBJECT);
                            pipeline.drain();
                          })
                      .isInstanceOf(CephException.class);
                }
              });
      List<RecordedEvent> batches = Recorded.of(events, "DiscardBatch");
      assertThat(batches).hasSize(1);
      assertThat(batches.get(0).getInt("errno")).isEqualTo(EINVAL);
      assertThat(batches.get(0).getLong("bytes")).isZero();
      assertThat(Recorded.of(events, "LibrbdCall"))
          .filteredOn(e -> e.getString("operation").equals("rbd_aio_discard"))
          .extracting(e -> e.getInt("errno"))
          .containsExactly(EINVAL);
    }
  }

  @Test
  void nothingIsRecordedThatNobodyAskedFor() {
    Runnable work =
        () -> {
          io.writeFull(name, DATA);
          io.remove(name);
          create(MAPPED, 2);
          try (RbdImage image = pool.open(name);
              DiscardPipeline pipeline = image.discardPipeline(2)) {
            pipeline.discard(0, OBJECT);
            pipeline.drain();
          }
          pool.remove(name, Progress.NONE);
        };
    assertThat(Recorded.during(recording -> {}, work)).isEmpty();
    assertThat(Recorded.during(NativeEventsIT::likeTheJdk, work)).isEmpty();
  }

  /** As {@code -XX:StartFlightRecording} does that names no settings. */
  private static void likeTheJdk(Recording recording) {
    try {
      recording.setSettings(Configuration.getConfiguration("profile").getSettings());
    } catch (java.io.IOException | java.text.ParseException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aRecordingThatBeginsOrEndsBetweenDiscardsDoesNoHarm() {
    create(MAPPED, 40);
    try (RbdImage image = pool.open(name);
        DiscardPipeline pipeline = image.discardPipeline(8)) {
      Deque<Integer> left = new ArrayDeque<>();
      for (int i = 0; i < 40; i++) {
        left.add(i);
      }
      Runnable ten =
          () -> {
            for (int i = 0; i < 10; i++) {
              pipeline.discard((long) left.remove() * OBJECT, OBJECT);
            }
          };
      ten.run();
      List<RecordedEvent> first = recorded(ten);
      ten.run();
      List<RecordedEvent> second = recorded(ten);
      pipeline.drain();
      assertThat(Recorded.of(first, "LibrbdCall")).hasSizeBetween(2, 10);
      assertThat(Recorded.of(second, "LibrbdCall")).hasSizeBetween(2, 18);
      assertThat(pipeline.discardedBytes()).isEqualTo(40L * OBJECT);
    }
  }
}
