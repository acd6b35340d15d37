package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ManagerTest {
  private static final Duration PATIENCE = Duration.ofMinutes(15);
  private static final CommandReply REPLY = new CommandReply(new byte[0], "");

  private final AtomicLong nanos = new AtomicLong();
  private final Manager manager = new Manager(PATIENCE, nanos::get);
  private final List<Duration> waits = new ArrayList<>();

  private static CephException timedOut() {
    return ReturnCode.exception(-Errno.ETIMEDOUT.number(), "rados_mgr_command", "fs", "");
  }

  private CommandReply unanswered(Duration wait) {
    waits.add(wait);
    nanos.addAndGet(wait.toNanos());
    throw timedOut();
  }

  private void giveUp() {
    assertThatThrownBy(() -> manager.send(this::unanswered))
        .isInstanceOf(CephException.TimedOut.class);
  }

  private void assertNotSent() {
    assertThatThrownBy(() -> manager.send(wait -> REPLY))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE));
  }

  /** Each command that is given up keeps a thread and a connection. */
  @Test
  void aSilentManagerIsAskedByOneCommandAtATimeEachLongerThanTheLast() {
    giveUp();
    for (int i = 0; i < 6; i++) {
      assertThatThrownBy(
              () ->
                  manager.send(
                      wait -> {
                        assertNotSent();
                        return unanswered(wait);
                      }))
          .isInstanceOf(CephException.TimedOut.class);
    }
    assertThat(waits.stream().map(wait -> wait.dividedBy(PATIENCE)))
        .containsExactly(1L, 1L, 2L, 4L, 8L, 16L, 16L);
  }

  @Test
  void oneThatAnswersAgainIsAskedAsBefore() {
    giveUp();
    giveUp();
    giveUp();
    assertThat(manager.send(wait -> REPLY)).isEqualTo(REPLY);
    assertThat(manager.send(wait -> manager.send(inner -> REPLY))).isEqualTo(REPLY);
    waits.clear();
    giveUp();
    assertThat(waits).containsExactly(PATIENCE);
  }

  @Test
  void whatTheManagerRefusesIsAnAnswer() {
    giveUp();
    assertThatThrownBy(
            () ->
                manager.send(
                    wait -> {
                      throw timedOut(); // says the manager itself, as of a quiesce
                    }))
        .isInstanceOf(CephException.TimedOut.class);
    assertThat(manager.send(wait -> manager.send(inner -> REPLY))).isEqualTo(REPLY);
  }

  /** Those that were sent before the manager fell silent are not the one that asks alone. */
  @Test
  void manyThatAreGivenUpAtOnceCountAsOne() {
    assertThatThrownBy(
            () ->
                manager.send(
                    wait -> {
                      giveUp();
                      return unanswered(wait);
                    }))
        .isInstanceOf(CephException.TimedOut.class);
    giveUp();
    assertThat(waits).containsOnly(PATIENCE);
  }
}
