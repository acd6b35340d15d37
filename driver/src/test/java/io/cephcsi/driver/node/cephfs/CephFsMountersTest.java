package io.cephcsi.driver.node.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.NodeConfig;
import io.cephcsi.driver.grpc.StatusTable;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.VolumeUse;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.volume.VolumeException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CephFsMountersTest {
  private static final String ROOT = "/volumes/csi/csi-vol-1/uuid";
  private static final ClusterConfig CLUSTER =
      new ClusterConfig(
          "c",
          List.of("mon"),
          "",
          "csi",
          "csi",
          new NodeConfig("noatime,ms_mode=crc,ro", "nonempty", "", "", List.of()));

  private static Mount mount(String line) {
    return MountTable.parse(line + "\n").all().get(0);
  }

  private static List<String> options(CephFsOptions options, String given, List<String> flags) {
    return options.all(
        new StageRequest(
            "volume",
            Optional.empty(),
            Path.of("/staging"),
            new VolumeUse(false, "", flags, "", false, false, false),
            Map.of("kernelMountOptions", given, "fuseMountOptions", given),
            new Credentials("user", "key")),
        CLUSTER);
  }

  @Test
  void theLastOptionOfAKindHolds() {
    assertThat(options(CephFsOptions.KERNEL, "ms_mode=secure, wsize=1", List.of("rw", "wsize=2")))
        .containsExactly("noatime", "ms_mode=secure", "wsize=2");
    assertThat(options(CephFsOptions.FUSE, "debug", List.of()))
        .containsExactly("nonempty", "debug");
    assertThat(options(CephFsOptions.KERNEL, "", List.of("nodev,rsize=4096,ro")))
        .containsExactly("noatime", "ms_mode=crc", "nodev", "rsize=4096");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "name=admin",
        "secret=AQB",
        "secretfile=/etc/shadow",
        "mds_namespace=other",
        "fs=other",
        "conf=/etc/passwd",
        "mon_addr=10.0.0.1",
        "keyring=/x",
        "ip=10.0.0.1",
        "fsid=1",
        "snapdirname=x",
        "subtype=sshfs",
        "fsname=x",
        "modules=subdir",
        "fd=3",
        "user_id=0",
        "remount",
        "bind",
        "loop",
        "x-mount.mkdir",
        "wsize=1/../../x",
        "noatime,loop"
      })
  void whatOverridesTheDriverOrNamesFilesIsRefused(String option) {
    for (CephFsOptions options : List.of(CephFsOptions.KERNEL, CephFsOptions.FUSE)) {
      assertThatThrownBy(() -> options(options, option, List.of()))
          .isInstanceOf(VolumeException.class)
          .hasMessageContaining("MountOptions: \"")
          .hasMessageNotContaining("AQB");
      assertThatThrownBy(() -> options(options, "", List.of(option)))
          .isInstanceOf(VolumeException.class)
          .hasMessageContaining("mount_flags: \"");
    }
  }

  @Test
  void theKernelsMountsAreToldApartByTheirSource() {
    KernelMounter kernel = new KernelMounter(new CrushLocation(Map.of()));
    Mount mount =
        mount("50 1 0:50 / /m rw - ceph 10.0.0.1:6789,10.0.0.2:6789:" + ROOT + " rw,name=user");
    assertThat(kernel.made(mount)).isTrue();
    assertThat(kernel.shows(mount, "cephfs", ROOT)).isTrue();
    assertThat(kernel.shows(mount, "cephfs", "/uuid")).isFalse();
    Mount named =
        mount("50 1 0:50 / /m rw - ceph 10.0.0.1:6789:" + ROOT + " rw,mds_namespace=other");
    assertThat(kernel.shows(named, "cephfs", ROOT)).isFalse();
    assertThat(kernel.shows(named, "other", ROOT)).isTrue();
    Mount recent = mount("50 1 0:50 / /m rw - ceph user@fsid.cephfs=" + ROOT + " rw");
    assertThat(kernel.shows(recent, "cephfs", ROOT)).isTrue();
    assertThat(kernel.shows(recent, "other", ROOT)).isFalse();
  }

  @Test
  void theMountsOfCephFuseAreToldApartByTheirSource() {
    CephFuseMounter fuse = new CephFuseMounter(ServerCgroup.none());
    Mount mount = mount("50 1 0:50 / /m rw - fuse.ceph-fuse ceph-fuse:cephfs:" + ROOT + " rw");
    assertThat(fuse.made(mount)).isTrue();
    assertThat(fuse.shows(mount, "cephfs", ROOT)).isTrue();
    assertThat(fuse.shows(mount, "other", ROOT)).isFalse();
    assertThat(fuse.shows(mount, "cephfs", ROOT + "x")).isFalse();
    Mount ofAnother = mount("50 1 0:50 / /m rw - fuse.ceph-fuse ceph-fuse rw");
    assertThat(fuse.shows(ofAnother, "cephfs", ROOT)).isTrue(); // it does not tell
    assertThat(fuse.made(mount("50 1 0:50 / /m rw - fuse.sshfs host:/ rw"))).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ceph-fuse[7]: ceph mount failed with (2) No such file or directory | NOT_FOUND",
        "ceph-fuse[7]: ceph mount failed with 2026-01-01 -1 client.5 mds.0 rejected us"
            + " (non-allowable root '/a')(1) Operation not permitted | PERMISSION_DENIED",
        "ceph-fuse[7]: ceph client failed with (13) Permission denied | PERMISSION_DENIED",
        "ceph-fuse[7]: ceph mount failed with (110) Connection timed out | DEADLINE_EXCEEDED",
        "ceph-fuse[7]: ceph mount failed with (108) Cannot send | UNAVAILABLE",
        "ceph-fuse[7]: probably no MDS server is up?; ceph mount failed with (4) I | UNAVAILABLE",
        "ceph-fuse[7]: fuse failed to start | INTERNAL",
        "ceph-fuse[7]: ceph mount failed with (5) Input/output error | INTERNAL",
        "mount error 2 = No such file or directory | NOT_FOUND",
        "mount error 13 = Permission denied | PERMISSION_DENIED",
        "mount error 110 = Connection timed out | DEADLINE_EXCEEDED",
        "mount error: no mds server is up or the cluster is laggy | UNAVAILABLE",
        "mount error: no mds (Metadata Server) is up. The cluster might be laggy | UNAVAILABLE",
        "mount error 5 = Input/output error | INTERNAL",
      })
  void whatAMountThatFailedSaysIsUnderstood(String said, Status.Code code) {
    CommandException failed =
        new CommandException("ceph-fuse /a ended with exit code 1: " + said, 1);
    var request =
        new CephFsMounter.Request(
            CLUSTER, new Credentials("user", "key"), "cephfs", ROOT, false, List.of());
    StatusRuntimeException told =
        StatusTable.statusOf(MountErrors.explained(failed, request), StatusTable.Family.CSI);
    assertThat(told.getStatus().getCode()).isEqualTo(code);
    assertThat(told.getStatus().getDescription()).contains(said);
  }

  @Test
  void anUnknownMounterIsRefused() {
    assertThatThrownBy(
            () ->
                CephFsMounters.usual(new CrushLocation(Map.of()), ServerCgroup.none())
                    .choose(Optional.of("floppy")))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("kernel or fuse");
  }
}
