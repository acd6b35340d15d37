package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.crash.FaultPoint;
import io.cephcsi.driver.crash.FaultyProgram;
import io.cephcsi.driver.fsck.check.CheckedCluster.PlainVolume;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.Tries;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ceph-csi fsck --repair} is killed at each of its writes; a second run ends well. */
class RepairCrashIT {
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final List<String> DAMAGES =
      List.of(
          "name removed",
          "name leads nowhere",
          "image id of nothing",
          "directory without name_ and id_",
          "rbd_id removed",
          "in a group that is gone",
          "mark of a reclaim");

  private static CheckedCluster cluster;
  private static Damages damages;

  @TempDir private Path folder;

  @BeforeAll
  static void fill() throws Exception {
    cluster = new CheckedCluster("fsck-crash");
    for (int i = 0; i < DAMAGES.size() + 1; i++) {
      cluster.plain().add(cluster.makePlain("plain-" + i, i == 3));
    }
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapSet(CheckedCluster.NODE, "2999-01-01T00:00:00Z".getBytes(UTF_8));
      cluster.io().operate("csi.java.nodes.default", write);
    }
    damages = new Damages(cluster);
  }

  @AfterAll
  static void end() throws Exception {
    cluster.close();
  }

  private static void damage() {
    PlainVolume other = cluster.plain().get(DAMAGES.size());
    Set<String> expected = new TreeSet<>();
    Tries.times(
        1,
        values -> {
          for (int i = 0; i < DAMAGES.size(); i++) {
            Damages.Change change = damages.new Change(cluster.plain().get(i), other, values);
            damages.all().get(DAMAGES.get(i)).apply(change);
            expected.addAll(change.expected());
          }
        });
    assertThat(CheckedCluster.shown(cluster.check())).isEqualTo(expected);
  }

  /** What calls left that were broken off: a name, a deletion, images, a snapshot. */
  private static void leave(Leftovers left) {
    left.reserve();
    left.beginDeletion();
    left.makeIntermediate();
    left.forget();
    left.beginMove(true);
    left.beginMove(false);
    left.keepSnapshot();
    assertThat(CheckedCluster.shown(cluster.check())).isEqualTo(left.expected());
  }

  /** The steps that {@code --older-than} holds back otherwise. */
  @Test
  void aSecondRunEndsWhatAKilledOneBeganToRemove() throws Exception {
    Path out = folder.resolve("out");
    LocalCluster ceph = cluster.ceph();
    int killed = 0;
    for (String moment : FULL ? List.of("before", "after") : List.of("after")) {
      boolean halted = true;
      for (int write = 1; halted; write += FULL ? 1 : 2) {
        leave(new Leftovers(cluster));
        halted = RepairProgram.isHalted(ceph, "rbd", moment + "," + write + ",main", out);
        killed += halted ? 1 : 0;
        Awaitility.await(moment + " write " + write) // the manager empties the trash
            .atMost(Duration.ofMinutes(1))
            .pollInterval(Duration.ofMillis(200))
            .until(
                () -> {
                  assertThat(RepairProgram.isHalted(ceph, "rbd", "", out)).isFalse();
                  return cluster.check().isEmpty();
                });
      }
    }
    assertThat(killed).isGreaterThanOrEqualTo(FULL ? 16 : 4);
  }

  private int repair(String fault) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(
            FaultyProgram.program().toString(),
            "fsck",
            "--conf=" + cluster.ceph().conf(),
            "--pool=rbd",
            "--settle=0",
            "--min-age=0",
            "--repair",
            "--yes",
            "--report=" + folder.resolve("report"));
    if (!fault.isEmpty()) {
      builder.environment().put("CEPH_CSI_JAVA_OPTS", FaultyProgram.option(fault));
    }
    Process process =
        builder.redirectErrorStream(true).redirectOutput(folder.resolve("out").toFile()).start();
    assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
    return process.exitValue();
  }

  @Test
  void aSecondRunEndsWhatAKilledOneBegan() throws Exception {
    ImageContent content = new ImageContent(cluster.ceph());
    Map<String, Integer> before = new HashMap<>();
    cluster.plain().forEach(v -> before.put(v.image(), content.checksum("rbd/" + v.image())));
    int killed = 0;
    for (String moment : FULL ? List.of("before", "after") : List.of("after")) {
      boolean ended = false;
      for (int write = 1; !ended; write++) {
        damage();
        int code = repair(moment + "," + write + ",main");
        ended = code != FaultPoint.HALTED;
        killed += ended ? 0 : 1;
        if (!ended) {
          assertThat(repair("")).as(Files.readString(folder.resolve("out"))).isZero();
        } else {
          assertThat(code).as(Files.readString(folder.resolve("out"))).isZero();
        }
        assertThat(cluster.check()).as(moment + " write " + write).isEmpty();
      }
    }
    assertThat(killed).isGreaterThanOrEqualTo(DAMAGES.size());
    assertThat(Files.readString(folder.resolve("report"))).contains("\tbegin\t", "\tend\t");
    cluster
        .plain()
        .forEach(
            v -> assertThat(content.checksum("rbd/" + v.image())).isEqualTo(before.get(v.image())));
  }
}
