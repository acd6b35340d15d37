package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Answers of the MDS on sets, decoded without a cluster. */
class QuiesceTest {
  private final List<String> sent = new ArrayList<>();
  private final List<String> urgent = new ArrayList<>();

  private Quiesce answering(String answer) {
    return new Quiesce(
        command -> {
          record(command);
          return answer;
        },
        "cephfs",
        "csi",
        "set-1");
  }

  private void record(CephCommand command) {
    sent.add(command.toString());
    if (command.isUrgent()) {
      urgent.add(command.toString());
    }
  }

  private Quiesce failing(Errno errno) {
    return new Quiesce(
        command -> {
          record(command);
          throw ReturnCode.exception(-errno.number(), "rados_mgr_command", "", "said so");
        },
        "cephfs",
        "csi",
        "set-1");
  }

  /** As with a manager whose client is blocklisted, or that does not answer. */
  private Quiesce unasked() {
    return new Quiesce(
        command -> {
          record(command);
          throw new VolumeException(Reason.UNAVAILABLE, "not asked");
        },
        "cephfs",
        "csi",
        "set-1");
  }

  private static String set(String state) {
    return """
    {"epoch": 9, "leader": 4155, "set_version": 3, "sets": {"set-1": {
      "version": 3, "age_ref": 1.2, "state": {"name": "%s", "age": 0.0}, "timeout": 20.0,
      "expiration": 31.0, "members": {"file:/volumes/csi/a/1": {"excluded": false,
        "state": {"name": "QUIESCED", "age": 0.1}}}}}}
    """
        .formatted(state);
  }

  private static void begin(Quiesce quiesce) {
    quiesce.begin(List.of("a", "b"), Duration.ofSeconds(20), Duration.ofSeconds(31));
  }

  private static void assertAborted(String text, Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining(text)
        .extracting(e -> ((VolumeException) e).reason())
        .isEqualTo(Reason.ABORTED);
  }

  @Test
  void allMembersAreQuiescedAsOneSetThatExpires() {
    assertThatCode(() -> begin(answering(set("QUIESCED")))).doesNotThrowAnyException();
    assertThat(sent.get(0))
        .contains("\"prefix\":\"fs quiesce\"", "\"vol_name\":\"cephfs\"", "\"group_name\":\"csi\"")
        .contains("\"set_id\":\"set-1\"", "\"members\":[\"a\",\"b\"]", "\"await\":true")
        .contains("\"timeout\":20.0", "\"expiration\":31.0");
  }

  @Test
  void whatIsNotQuiescedIsNotTaken() {
    assertAborted("TIMEDOUT", () -> begin(answering(set("TIMEDOUT"))));
    assertAborted("UNKNOWN", () -> begin(answering(set("DANCING"))));
    assertAborted("UNKNOWN", () -> begin(answering("{\"sets\": {}}")));
    assertAborted("said so", () -> begin(failing(Errno.ETIMEDOUT)));
    assertAborted("said so", () -> begin(failing(Errno.EPERM)));
    assertAborted("said so", () -> begin(failing(Errno.ENOENT))); // or without a leader of the MDSs
  }

  @Test
  void whoMayNotQuiesceIsTold() {
    assertThatThrownBy(() -> begin(failing(Errno.EACCES))).isInstanceOf(CephException.Denied.class);
  }

  @Test
  void onlyAReleaseSaysThatAllStoodStill() {
    assertThatCode(() -> answering(set("RELEASED")).release()).doesNotThrowAnyException();
    assertThat(sent.get(0)).contains("\"release\":true", "\"await\":true");
    for (String state : List.of("EXPIRED", "CANCELED", "FAILED", "QUIESCED", "RELEASING")) {
      assertAborted(state, () -> answering(set(state)).release());
    }
    assertAborted("did not stay quiesced", () -> failing(Errno.EPERM).release());
    assertAborted("did not stay quiesced", () -> failing(Errno.ENOENT).release());
  }

  @Test
  void aSetIsGivenUpWhateverBecameOfIt() {
    for (Errno errno : List.of(Errno.ENOENT, Errno.EPERM, Errno.EINVAL)) {
      assertThatCode(() -> failing(errno).cancel()).doesNotThrowAnyException();
    }
    assertThatCode(() -> answering(set("CANCELED")).cancel()).doesNotThrowAnyException();
    assertThat(sent).allMatch(json -> json.contains("\"cancel\":true"));
  }

  /** Its caller has the first error to tell. */
  @Test
  void aSetThatTheManagerIsNotAskedToEndExpires() {
    assertThatCode(() -> unasked().cancel()).doesNotThrowAnyException();
    assertThat(sent).hasSize(1);
  }

  @Test
  void aSetThatMayHaveBegunInVainIsCancelled() {
    for (Quiesce quiesce :
        List.of(answering(set("TIMEDOUT")), answering("no json"), failing(Errno.ETIMEDOUT))) {
      sent.clear();
      assertThatThrownBy(() -> begin(quiesce)).isInstanceOf(VolumeException.class);
      assertThat(sent).hasSize(2).last().asString().contains("\"cancel\":true");
    }
  }

  /** Each command, also the end of a set that is not there, keeps the manager's client in use. */
  @Test
  void aSetThatTheManagerIsNotAskedToBeginIsNotEnded() {
    assertThatThrownBy(() -> begin(unasked())).hasMessage("not asked");
    assertThat(sent).hasSize(1);
  }

  @Test
  void onlyWhatLetsClientsGoOnIsUrgent() {
    begin(answering(set("QUIESCED")));
    assertThat(answering(set("QUIESCED")).state()).isPresent();
    assertThat(urgent).isEmpty();
    answering(set("RELEASED")).release();
    answering(set("CANCELED")).cancel();
    assertThat(urgent).hasSize(2);
  }

  @Test
  void anActiveSetMayStillHoldClientsUp() {
    for (String state : List.of("QUIESCING", "QUIESCED", "RELEASING", "DANCING")) {
      assertThat(answering(set(state)).state())
          .hasValueSatisfying(s -> assertThat(s.isActive()).isTrue());
    }
    for (String state : List.of("RELEASED", "EXPIRED", "FAILED", "CANCELED", "TIMEDOUT")) {
      assertThat(answering(set(state)).state())
          .hasValueSatisfying(s -> assertThat(s.isActive()).isFalse());
    }
    assertThat(answering("{\"sets\": {}}").state()).isEmpty();
    assertThat(answering("{}").state()).isEmpty();
    assertThat(failing(Errno.ENOENT).state()).isEmpty();
  }

  @Test
  void anAnswerThatIsNotJsonIsAnError() {
    assertThatThrownBy(() -> answering("no json").state())
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("not JSON");
  }
}
