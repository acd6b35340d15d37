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
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ManagerTest {
  private static final Duration PATIENCE = Duration.ofMinutes(15);
  private static final CommandReply REPLY = new CommandReply(new byte[0], "");
  private static final CephCommand COMMAND = on("cephfs");

  private final AtomicLong nanos = new AtomicLong();
  private double random;
  private final Manager manager = new Manager(PATIENCE, nanos::get, () -> random);
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
    assertThatThrownBy(() -> manager.send(COMMAND, this::unanswered))
        .isInstanceOf(CephException.TimedOut.class);
  }

  private static CephCommand on(String fileSystem) {
    return CephCommand.of("fs subvolume info", Map.of("vol_name", fileSystem, "sub_name", "x"));
  }

  private void assertNotSent() {
    assertNotSent(COMMAND);
  }

  private void assertNotSent(CephCommand command) {
    assertThatThrownBy(() -> manager.send(command, wait -> REPLY))
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
                      COMMAND,
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
    assertThat(manager.send(COMMAND, wait -> REPLY)).isEqualTo(REPLY);
    assertThat(manager.send(COMMAND, wait -> manager.send(COMMAND, inner -> REPLY)))
        .isEqualTo(REPLY);
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
                    COMMAND,
                    wait -> {
                      throw timedOut(); // says the manager itself, as of a quiesce
                    }))
        .isInstanceOf(CephException.TimedOut.class);
    assertThat(manager.send(COMMAND, wait -> manager.send(COMMAND, inner -> REPLY)))
        .isEqualTo(REPLY);
  }

  /** Those that were sent before the manager fell silent are not the one that asks alone. */
  @Test
  void manyThatAreGivenUpAtOnceCountAsOne() {
    assertThatThrownBy(
            () ->
                manager.send(
                    COMMAND,
                    wait -> {
                      giveUp();
                      return unanswered(wait);
                    }))
        .isInstanceOf(CephException.TimedOut.class);
    giveUp();
    assertThat(waits).containsOnly(PATIENCE);
  }

  private static CephException blocklisted() {
    return ReturnCode.exception(
        -Errno.ESHUTDOWN.number(), "rados_mgr_command", "fs", "error in stat");
  }

  /** A command that the manager refuses, as its client is blocklisted. */
  private void refuse(CephCommand command) {
    assertThatThrownBy(
            () ->
                manager.send(
                    command,
                    wait -> {
                      throw blocklisted();
                    }))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
        .hasMessageContaining("error in stat");
  }

  private void pass(long seconds) {
    nanos.addAndGet(Duration.ofSeconds(seconds).toNanos());
  }

  private void assertSent(CephCommand command) {
    assertThat(manager.send(command, wait -> REPLY)).isEqualTo(REPLY);
  }

  private void assertQuietFor(long seconds) {
    assertNotSent();
    pass(seconds - 1);
    assertNotSent();
    pass(1);
  }

  @Test
  void oneWhoseClientIsBlocklistedGetsNoCommandUntilItConnectsAnew() {
    refuse(COMMAND);
    assertQuietFor(95);
    assertSent(COMMAND);
  }

  @Test
  void theTimeIsDoubledWhenItWasInVain() {
    for (long seconds : List.of(95L, 190L, 380L, 480L, 480L)) {
      refuse(COMMAND);
      assertQuietFor(seconds);
    }
    assertSent(COMMAND);
    refuse(COMMAND);
    assertQuietFor(95);
  }

  @Test
  void aClientThatIsBlocklistedLongAfterIsAnotherOne() {
    refuse(COMMAND);
    pass(95 + 480 + 1);
    refuse(COMMAND);
    assertQuietFor(95);
  }

  @Test
  void theTimeHasARandomPart() {
    random = 0.8;
    refuse(COMMAND);
    assertQuietFor(95 + 19);
    refuse(COMMAND);
    assertQuietFor(190 + 38);
  }

  /** Of those that are sent at once all are refused, which tells nothing of the time. */
  @Test
  void whatWasSentBeforeIsAUseOfTheClientAndNoOtherTry() {
    assertThatThrownBy(
            () ->
                manager.send(
                    COMMAND,
                    wait -> {
                      refuse(COMMAND);
                      pass(60);
                      throw blocklisted();
                    }))
        .isInstanceOf(VolumeException.class);
    assertQuietFor(95);
    refuse(COMMAND);
    assertQuietFor(190);
  }

  @Test
  void anotherClientThatWorksMeanwhileEndsNothing() {
    assertThat(
            manager.send(
                COMMAND,
                wait -> {
                  refuse(COMMAND);
                  return REPLY;
                }))
        .isEqualTo(REPLY);
    assertQuietFor(95);
    refuse(COMMAND);
    assertQuietFor(190);
  }

  /** As the manager has one: it is dropped at a look after it had no command for a minute. */
  private final class Client {
    private boolean blocklisted = true;
    private long used;

    private CommandReply command() {
      used = nanos.get();
      if (blocklisted) {
        throw blocklisted();
      }
      return REPLY;
    }

    private void look() {
      blocklisted &= nanos.get() - used < Duration.ofSeconds(60).toNanos();
    }

    private boolean works(Manager by) {
      try {
        return by.send(COMMAND, wait -> command()).equals(REPLY);
      } catch (VolumeException e) {
        return false;
      }
    }
  }

  @Test
  void twoDriversThatTryByTurnsDoNotKeepTheClientForEver() {
    Manager other = new Manager(PATIENCE, nanos::get, () -> random);
    Client client = new Client();
    boolean one = false;
    boolean two = false;
    for (int second = 0; second < 600; second += 5, pass(5)) {
      if (second % 30 == 0) {
        client.look();
      }
      one |= client.works(manager);
      two |= second >= 50 && client.works(other);
    }
    assertThat(one).isTrue();
    assertThat(two).isTrue();
  }

  /** The manager has clients of its own for each file system. */
  @Test
  void commandsOnOtherFileSystemsAreSentMeanwhile() {
    refuse(on("a"));
    assertNotSent(on("a"));
    assertSent(on("b"));
    assertSent(CephCommand.of("rbd task list", Map.of()));
    pass(50);
    refuse(on("b"));
    pass(45);
    assertSent(on("a"));
    assertNotSent(on("b"));
  }

  @Test
  void notMoreThanAHundredFileSystemsAreRemembered() {
    for (int i = 0; i <= 100; i++) {
      refuse(on("fs-" + i));
    }
    assertSent(on("fs-0"));
    assertNotSent(on("fs-1"));
    assertNotSent(on("fs-100"));
  }

  /** Clients that stand still do so until their set is ended, or expires. */
  @Test
  void whatEndsAQuiesceIsSentMeanwhileAndIsAUseOfTheClient() {
    refuse(COMMAND);
    pass(60);
    assertSent(COMMAND.urgent());
    pass(94);
    assertNotSent();
    pass(1);
    assertSent(COMMAND);
  }
}
