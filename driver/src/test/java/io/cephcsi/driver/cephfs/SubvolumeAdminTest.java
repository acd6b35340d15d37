package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Answers of managers of several releases, decoded without a cluster. */
class SubvolumeAdminTest {
  private final List<String> sent = new ArrayList<>();

  private SubvolumeAdmin answering(String answer) {
    return new SubvolumeAdmin(
        command -> {
          sent.add(command.toString());
          return answer;
        },
        "cephfs",
        "csi");
  }

  private SubvolumeAdmin failing(Errno errno) {
    return new SubvolumeAdmin(
        command -> {
          sent.add(command.toString());
          throw ReturnCode.exception(-errno.number(), "rados_mgr_command", "", "");
        },
        "cephfs",
        "csi");
  }

  @Test
  void anInfoIsReadWithFieldsOfLaterReleasesIgnored() {
    SubvolumeInfo info =
        answering(
                """
                {"bytes_pcent": "0.00", "bytes_quota": 16777216, "bytes_used": 0, "casesensitive": true,
                 "earmark": "", "data_pool": "data", "path": "/volumes/csi/a/b", "state": "complete",
                 "source": {"subvolume": "x"}, "type": "subvolume"}
                """)
            .info("a")
            .orElseThrow();
    assertThat(info)
        .isEqualTo(
            new SubvolumeInfo("complete", Optional.of("/volumes/csi/a/b"), 16777216, "data"));
    assertThat(info.isRetained()).isFalse();
    assertThat(sent.get(0))
        .contains("\"prefix\":\"fs subvolume info\"", "\"vol_name\":\"cephfs\"")
        .contains("\"group_name\":\"csi\"", "\"sub_name\":\"a\"");
  }

  @Test
  void aQuotaMayBeInfiniteAndARemovedSubvolumeHasOnlySnapshots() {
    assertThat(
            answering("{\"bytes_quota\": \"infinite\", \"path\": \"/p\"}").info("a").get().quota())
        .isZero();
    assertThat(
            answering("{\"features\": [], \"state\": \"snapshot-retained\"}")
                .info("a")
                .get()
                .isRetained())
        .isTrue();
  }

  @Test
  void aSnapshotHasATimeAndPerhapsClones() {
    SnapshotInfo info =
        answering(
                """
                {"created_at": "2026-11-20 21:45:53.066807", "data_pool": "d",
                 "has_pending_clones": "yes", "pending_clones": [{"name": "c"}], "orphan_clones_count": 0}
                """)
            .snapshotInfo("a", "s")
            .orElseThrow();
    assertThat(info.createdAt()).isEqualTo(Instant.parse("2026-11-20T21:45:53Z"));
    assertThat(info.hasPendingClones()).isTrue();
    assertThatThrownBy(() -> answering("{}").snapshotInfo("a", "s"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("created_at");
  }

  @Test
  void cloneStatesAreReadAndAnUnknownOneIsAnError() {
    assertThat(state("pending")).isEqualTo(CloneStatus.State.PENDING);
    assertThat(state("complete")).isEqualTo(CloneStatus.State.COMPLETE);
    assertThat(state("canceled")).isEqualTo(CloneStatus.State.FAILED);
    assertThatThrownBy(() -> state("on-fire")).hasMessageContaining("on-fire");
    CloneStatus progress =
        answering(
                """
                {"status": {"state": "in-progress", "source": {"volume": "cephfs"},
                 "progress_report": {"percentage cloned": "12.24%", "amount cloned": "376M/3.0G"}}}
                """)
            .cloneStatus("c")
            .orElseThrow();
    assertThat(progress.state()).isEqualTo(CloneStatus.State.IN_PROGRESS);
    assertThat(progress.percent()).hasValue(12.24);
    CloneStatus failed =
        answering(
                """
                {"status": {"state": "failed", "failure": {"errno": "122", "error_msg": "quota"}}}
                """)
            .cloneStatus("c")
            .orElseThrow();
    assertThat(failed.failure()).isEqualTo("quota");
  }

  private CloneStatus.State state(String text) {
    return answering("{\"status\": {\"state\": \"" + text + "\"}}")
        .cloneStatus("c")
        .orElseThrow()
        .state();
  }

  @Test
  void whatIsAsItShouldBeIsNoError() {
    SubvolumeAdmin none = failing(Errno.ENOENT);
    assertThat(none.info("a")).isEmpty();
    assertThat(none.path("a")).isEmpty();
    assertThat(none.snapshotInfo("a", "s")).isEmpty();
    assertThat(none.cloneStatus("a")).isEmpty();
    none.remove("a");
    none.removeSnapshot("a", "s");
    none.removeFailedClone("a");
    assertThat(failing(Errno.EOPNOTSUPP).cloneStatus("a")).hasValue(CloneStatus.COMPLETE);
    failing(Errno.EEXIST).createSnapshot("a", "s");
    failing(Errno.EINVAL).cancelClone("a");
  }

  @Test
  void aManagerThatDoesNotKnowTheFileSystemProvesNothingGone() {
    SubvolumeAdmin admin =
        new SubvolumeAdmin(
            command -> {
              throw ReturnCode.exception(
                  -Errno.ENOENT.number(), "rados_mgr_command", "", "FS 'cephfs' not found");
            },
            "cephfs",
            "csi");
    assertThatThrownBy(() -> admin.snapshotInfo("a", "s"))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("does not know file system");
    assertThatThrownBy(() -> admin.remove("a")).isInstanceOf(VolumeException.class);
    assertThatThrownBy(() -> admin.createSnapshot("a", "s")).isInstanceOf(VolumeException.class);
    assertThatThrownBy(() -> admin.create("a", 1, Optional.empty()))
        .isInstanceOf(VolumeException.class);
    assertThatThrownBy(() -> admin.path("a")).isInstanceOf(VolumeException.class);
    assertThatThrownBy(() -> admin.clone("a", "s", "b", Optional.empty()))
        .isInstanceOf(VolumeException.class);
    assertThatThrownBy(() -> admin.grow("a", 1)).isInstanceOf(VolumeException.class);
  }

  @Test
  void otherErrorsAreErrors() {
    for (Errno errno : List.of(Errno.EAGAIN, Errno.EIO, Errno.EACCES)) {
      SubvolumeAdmin admin = failing(errno);
      assertThatThrownBy(() -> admin.info("a")).isInstanceOf(CephException.class);
      assertThatThrownBy(() -> admin.cloneStatus("a")).isInstanceOf(CephException.class);
      assertThatThrownBy(() -> admin.remove("a")).isInstanceOf(CephException.class);
      assertThatThrownBy(() -> admin.removeSnapshot("a", "s")).isInstanceOf(CephException.class);
      assertThatThrownBy(() -> admin.cancelClone("a")).isInstanceOf(CephException.class);
    }
  }

  @Test
  void aGroupThatIsMissingIsMade() {
    List<String> commands = new ArrayList<>();
    SubvolumeAdmin admin =
        new SubvolumeAdmin(
            command -> {
              String json = command.toString();
              commands.add(json.replaceAll(".*\"prefix\":\"([^\"]*)\".*", "$1"));
              if (commands.size() == 1) {
                throw ReturnCode.exception(-Errno.ENOENT.number(), "rados_mgr_command", "", "");
              }
              return "";
            },
            "cephfs",
            "csi");
    admin.create("a", 4096, Optional.of("pool"));
    assertThat(commands)
        .containsExactly("fs subvolume create", "fs subvolumegroup create", "fs subvolume create");
  }

  @Test
  void subvolumesFromBeforeRetentionAreRemovedWithoutIt() {
    List<String> commands = new ArrayList<>();
    SubvolumeAdmin admin =
        new SubvolumeAdmin(
            command -> {
              String json = command.toString();
              commands.add(json);
              if (json.contains("retain_snapshots")) {
                throw ReturnCode.exception(-Errno.EOPNOTSUPP.number(), "rados_mgr_command", "", "");
              }
              return "";
            },
            "cephfs",
            "csi");
    admin.remove("a");
    assertThat(commands).hasSize(2);
  }
}
