package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RunningCallsTest {
  private static final Duration SLOW = Duration.ofSeconds(2);
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final String FLATTEN = "rbd_flatten_with_progress";
  private static final String SILENT = "v1:10.0.0.5:0/1";

  private final AtomicLong nanos = new AtomicLong();
  private final RunningCalls calls = new RunningCalls(Runnable::run, SLOW, nanos::get);

  private static OwnerCalls.Place place(long pool, String key) {
    return new OwnerCalls.Place("ceph", pool, "", key);
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private RunningCalls.Call begin(OwnerCalls.Place place) {
    return calls.begin(place, FLATTEN);
  }

  private void begin(int count, String prefix) {
    IntStream.range(0, count).forEach(i -> begin(place(1, prefix + i)));
  }

  private void giveUp(int count, String prefix) {
    IntStream.range(0, count)
        .mapToObj(i -> begin(place(1, prefix + i)))
        .forEach(call -> call.giveUp(Optional.of(SILENT)));
  }

  private RunningCalls.Room roomFor(long pool, String key) {
    RunningCalls.Call next = begin(place(pool, key));
    RunningCalls.Room room = calls.roomFor(next, PATIENCE);
    next.end();
    return room;
  }

  @Test
  void anImageThatOthersHaveLockedHasTwoSlowCalls() {
    begin(place(1, "image"));
    pass(SLOW);
    assertThat(roomFor(1, "image")).isEqualTo(RunningCalls.Room.FOR_ALL);
    begin(place(1, "image"));
    assertThat(roomFor(1, "image")).isEqualTo(RunningCalls.Room.FOR_ALL);
    pass(SLOW);
    assertThat(roomFor(1, "image")).isEqualTo(RunningCalls.Room.UNLESS_LOCKED);
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.FOR_ALL);
  }

  /** As many as there are callers would take as many threads before the first one is slow. */
  @Test
  void anImageThatOthersHaveLockedHasFourCallsAtOnce() {
    IntStream.range(0, 3).forEach(i -> begin(place(1, "image")));
    RunningCalls.Call fourth = begin(place(1, "image"));
    RunningCalls.Call fifth = begin(place(1, "image"));
    assertThat(calls.roomFor(fourth, PATIENCE)).isEqualTo(RunningCalls.Room.FOR_ALL);
    assertThat(calls.roomFor(fifth, PATIENCE)).isEqualTo(RunningCalls.Room.UNLESS_LOCKED);
    fourth.end();
    assertThat(calls.roomFor(fifth, PATIENCE)).isEqualTo(RunningCalls.Room.FOR_ALL);
  }

  @Test
  void slowCallsOfAPoolAndOfAllLeaveRoomForOwnersThatAnswer() {
    begin(8, "image-");
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.FOR_ALL);
    pass(SLOW);
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.UNLESS_SILENT);
    assertThat(roomFor(2, "other")).isEqualTo(RunningCalls.Room.FOR_ALL);
    begin(120, "more-");
    pass(SLOW);
    assertThat(roomFor(2, "other")).isEqualTo(RunningCalls.Room.UNLESS_SILENT);
  }

  /** Clients that were not known to be silent would take all threads. */
  @Test
  void givenUpCallsOfAPoolLeaveRoomForImagesThatNobodyElseHasLocked() {
    giveUp(31, "image-");
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.FOR_ALL);
    giveUp(1, "last-");
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.UNLESS_LOCKED);
    assertThat(roomFor(2, "other")).isEqualTo(RunningCalls.Room.FOR_ALL);
    assertThat(calls.isSilent(SILENT)).isTrue();
    assertThat(calls.isSilent("v1:10.0.0.6:0/1")).isFalse();
  }

  @Test
  void callsOnImagesLeaveRoomForGroupsAndTheOtherWayRound() {
    giveUp(200, "image-");
    begin(200, "slow-");
    pass(SLOW);
    assertThat(roomFor(1, "group a")).isEqualTo(RunningCalls.Room.FOR_ALL);
    begin(8, "group ");
    pass(SLOW);
    assertThat(roomFor(1, "group a")).isEqualTo(RunningCalls.Room.UNLESS_SILENT);
    giveUp(32, "group late-");
    assertThat(roomFor(1, "group a")).isEqualTo(RunningCalls.Room.UNLESS_LOCKED);
    assertThat(roomFor(2, "image")).isEqualTo(RunningCalls.Room.UNLESS_SILENT); // 400 of all
  }

  @Test
  void closesTakeNoRoom() {
    for (int i = 0; i < 200; i++) {
      calls.beginClose(place(1, "image")).giveUp(Optional.empty());
    }
    assertThat(roomFor(1, "image")).isEqualTo(RunningCalls.Room.FOR_ALL);
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.FOR_ALL);
  }

  @Test
  void aCallThatIsHeardIsNotGivenUpNorIsTheCloseBehindIt() {
    OwnerCalls.Place image = place(1, "image");
    RunningCalls.Call flatten = begin(image);
    Progress progress = flatten.heard(Progress.NONE);
    progress.progress(1, 100);
    flatten.giveUp(Optional.empty());
    calls.beginClose(image).giveUp(Optional.empty());
    assertThat(calls.isGivenUp(image, PATIENCE)).isFalse();
    assertThat(calls.hasGivenUp(image)).isTrue();
    pass(PATIENCE);
    assertThat(calls.isGivenUp(image, PATIENCE)).isTrue();
    progress.progress(2, 100);
    assertThat(calls.isGivenUp(image, PATIENCE)).isFalse();
    begin(image).giveUp(Optional.of(SILENT)); // may come late, whatever else is heard
    assertThat(calls.isGivenUp(image, PATIENCE)).isTrue();
    assertThat(calls.isGivenUp(place(2, "image"), PATIENCE)).isFalse();
  }

  private RunningCalls.Call heard(String key) {
    RunningCalls.Call call = begin(place(1, key));
    assertThat(call.heard(Progress.NONE).progress(1, 100)).isTrue();
    call.giveUp(Optional.empty());
    return call;
  }

  /** An owner that answers has each of them: it flattens many images, for hours. */
  @Test
  void callsThatAreHeardHoldUpOthersOnlyWhenTheyAreVeryMany() {
    heard("image");
    heard("image");
    IntStream.range(0, 125).forEach(i -> heard("image-" + i));
    pass(SLOW);
    assertThat(roomFor(1, "image")).isEqualTo(RunningCalls.Room.FOR_ALL);
    RunningCalls.Call last = heard("last");
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.UNLESS_LOCKED);
    last.end();
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.FOR_ALL);
    pass(PATIENCE); // without progress
    assertThat(roomFor(1, "other")).isEqualTo(RunningCalls.Room.UNLESS_LOCKED);
  }

  @Test
  void callsThatAreGivenUpAreToldApartByTheirFunction() {
    OwnerCalls.Place image = place(1, "image");
    RunningCalls.Call flatten = begin(image);
    assertThat(calls.hasGivenUp(image, FLATTEN)).isFalse();
    flatten.giveUp(Optional.empty());
    assertThat(calls.hasGivenUp(image, FLATTEN)).isTrue();
    assertThat(calls.hasGivenUp(image, "rbd_sparsify_with_progress")).isFalse();
    assertThat(calls.hasGivenUp(place(1, "other"), FLATTEN)).isFalse();
    flatten.end();
    assertThat(calls.hasGivenUp(image, FLATTEN)).isFalse();
  }

  @Test
  void aCloseThatIsGivenUpSpeaksForItselfWhereNothingIsHeard() {
    calls.beginClose(place(1, "image")).giveUp(Optional.empty());
    assertThat(calls.isGivenUp(place(1, "image"), PATIENCE)).isTrue();
    assertThat(calls.hasGivenUp(place(1, "image"))).isFalse();
  }
}
