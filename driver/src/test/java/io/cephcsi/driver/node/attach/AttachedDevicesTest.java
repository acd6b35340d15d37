package io.cephcsi.driver.node.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.node.machine.Sysfs;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How the devices of images are found in what the kernel shows. */
class AttachedDevicesTest {
  private static final ImageSpec IMAGE = new ImageSpec("rbd", "", "csi-vol-1");
  private static final ImageSpec IN_NAMESPACE = new ImageSpec("rbd", "ns", "csi-vol-2");

  @TempDir Path sys;

  private void file(String path, String text) throws IOException {
    Path file = sys.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
  }

  private void process(int id, String line) throws IOException {
    file("proc/" + id + "/cmdline", line.replace(' ', '\0') + "\0");
    file("proc/" + id + "/status", Files.readString(Path.of("/proc/self/status")));
  }

  /** One that a pod has: its container counts its processes anew. */
  private void processOfPod(int id, String line) throws IOException {
    process(id, line);
    Path status = sys.resolve("proc/" + id + "/status");
    Files.writeString(
        status, Files.readString(status).replaceFirst("(?m)^NSpid:.*$", "NSpid:\t" + id + "\t1"));
  }

  private void krbd(int id, String pool, String namespace, String image, String snapshot)
      throws IOException {
    String folder = "bus/rbd/devices/" + id + "/";
    file(folder + "pool", pool);
    file(folder + "pool_ns", namespace);
    file(folder + "name", image);
    file(folder + "current_snap", snapshot);
  }

  private KrbdAttacher krbd() {
    return new KrbdAttacher(sys.resolve("bus/rbd"), new CrushLocation(Map.of()));
  }

  private NbdAttacher nbd() {
    return new NbdAttacher(sys, sys.resolve("proc"), sys.resolve("keys"), ServerCgroup.none());
  }

  @Test
  void aDeviceWhoseNumberAnotherImageHasByNowIsNotWorkedOn() throws IOException {
    Path device = Files.createFile(sys.resolve("rbd0"));
    krbd(0, "rbd", "", "csi-vol-3", "-");
    assertThatThrownBy(
            () -> OpenDevice.of(new AttachedDevice(AttacherKind.KRBD, IMAGE, device, true), krbd()))
        .hasMessageContaining("any more")
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE));
  }

  @Test
  void krbdShowsHeadsAndNotSnapshots() throws IOException {
    krbd(0, "rbd", "", "csi-vol-1", "-");
    krbd(3, "rbd", "ns", "csi-vol-2", "-");
    krbd(4, "rbd", "", "csi-vol-3", "snap");
    assertThat(krbd().list())
        .containsExactlyInAnyOrder(
            new AttachedDevice(AttacherKind.KRBD, IMAGE, Path.of("/dev/rbd0"), true),
            new AttachedDevice(AttacherKind.KRBD, IN_NAMESPACE, Path.of("/dev/rbd3"), true));
    assertThat(krbd().find(IN_NAMESPACE))
        .map(AttachedDevice::device)
        .hasValue(Path.of("/dev/rbd3"));
  }

  private static AttachRequest request(String fsid, String... monitors) {
    return new AttachRequest(
        new ClusterConfig("one", List.of(monitors), "", "csi", "csi"),
        fsid,
        new Credentials("user", "key"),
        IMAGE,
        false,
        "",
        false,
        Optional.empty());
  }

  @Test
  void krbdTellsTheClusterOfADevice() throws IOException {
    krbd(0, "rbd", "", "csi-vol-1", "-");
    AttachedDevice device = krbd().list().get(0);
    assertThat(krbd().isOf(device, request("fsid-1"))).isEmpty();
    file("bus/rbd/devices/0/cluster_fsid", "fsid-1");
    assertThat(krbd().isOf(device, request("fsid-1"))).hasValue(true);
    assertThat(krbd().isOf(device, request("fsid-2"))).hasValue(false);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--mon_host 10.0.0.2:6789,10.0.0.1:6789 | true",
        "--mon-host=10.0.0.1:6789 | true",
        "-m [v2:10.0.0.3:3300/0,v1:10.0.0.1:6789/0] | true",
        "-m 10.0.0.2:6789 | false",
        "--conf /etc/ceph/ceph.conf | false"
      })
  void nbdTellsTheClusterOfADeviceByTheMonitorsOfItsProcess(String option, boolean same)
      throws IOException {
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "rbd/csi-vol-1");
    process(10, "/usr/bin/rbd-nbd " + option + " --id a map rbd/csi-vol-1");
    AttachedDevice device = nbd().list().get(0);
    AttachRequest request = request("fsid", "10.0.0.1:6789", "10.0.0.9:6789");
    assertThat(nbd().isOf(device, request).isPresent()).isEqualTo(same);
    Files.delete(sys.resolve("proc/10/cmdline"));
    assertThat(nbd().isOf(nbd().list().get(0), request)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "10.0.0.1:6789 | 10.0.0.1:3300 | true",
        "10.0.0.1:6789 | 10.0.0.1 | true",
        "10.0.0.1 | v2:10.0.0.1:3300 | true",
        "10.0.0.1:6789 | [v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0] | true",
        "10.0.0.1:6790 | v1:10.0.0.1:6790/0 | true",
        "10.0.0.1:6790 | 10.0.0.1:3300 | false",
        "10.0.0.1:6789 | 10.0.0.10:6789 | false",
        "[fd00::1]:6789 | [v2:[fd00::1]:3300/0,v1:[fd00::1]:6789/0] | true",
        "[fd00::1]:6789 | [fd00::1] | true",
        "fd00::1 | [fd00::1]:3300 | true",
        "[fd00::1]:6790 | [fd00::1]:6789 | false",
        "fd00::1:6789 | [fd00::1] | false",
        "mon-a.ceph.svc:6789 | mon-a.ceph.svc:3300 | true",
        "mon-a.ceph.svc:6789 | mon-a.ceph.svc | true",
        "mon-a.ceph.svc:6789 | mon-b.ceph.svc:6789 | false"
      })
  void aMonitorIsTheSameAtEitherOfItsDefaultPorts(String served, String configured, boolean same)
      throws IOException {
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "rbd/csi-vol-1");
    process(10, "rbd-nbd -m " + served + " map rbd/csi-vol-1");
    AttachedDevice device = nbd().list().get(0);
    assertThat(nbd().isOf(device, request("fsid", configured)).isPresent()).isEqualTo(same);
  }

  @Test
  void withoutTheModulesNothingIsAttached() {
    assertThat(krbd().list()).isEmpty();
    assertThat(nbd().list()).isEmpty();
  }

  @Test
  void nbdDevicesAreKnownByTheirIdentifierEvenWhenTheirProcessDied() throws IOException {
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "rbd/csi-vol-1");
    process(10, "/usr/bin/rbd-nbd map rbd/csi-vol-1 --try-netlink");
    file("block/nbd1/pid", "11");
    file("block/nbd1/backend", "rbd/ns/csi-vol-2");
    file("block/nbd2/size", "0"); // not in use
    file("block/nbd3/pid", "13"); // of the process that was killed, and another one took over
    file("block/nbd3/backend", "rbd/csi-vol-3");
    process(23, "/usr/bin/rbd-nbd attach rbd/csi-vol-3 --device /dev/nbd3");
    assertThat(nbd().list())
        .containsExactlyInAnyOrder(
            new AttachedDevice(AttacherKind.NBD, IMAGE, Path.of("/dev/nbd0"), true),
            new AttachedDevice(AttacherKind.NBD, IN_NAMESPACE, Path.of("/dev/nbd1"), false),
            new AttachedDevice(
                AttacherKind.NBD,
                new ImageSpec("rbd", "", "csi-vol-3"),
                Path.of("/dev/nbd3"),
                true));
  }

  @Test
  void nbdDevicesThatOthersMadeAreKnownByTheirProcess() throws IOException {
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "212df00d-1cf0-449a-98c0-afc68a9f892d");
    process(10, "/usr/bin/rbd-nbd --id admin map rbd/csi-vol-1 --try-netlink");
    file("block/nbd1/pid", "11"); // a process of another program has the number by now
    process(11, "/bin/sh map rbd/csi-vol-9");
    assertThat(nbd().list())
        .containsExactly(new AttachedDevice(AttacherKind.NBD, IMAGE, Path.of("/dev/nbd0"), true));
  }

  @Test
  void nbdDevicesWithoutAProcessAreDeadWhateverTheirImage() throws IOException {
    file("block/nbd0/pid", "10"); // ceph-csi's
    file("block/nbd0/backend", "0001-0011-cluster-0000000000000002-volume");
    file("block/nbd1/pid", "11"); // of a kernel that keeps no identifier
    file("block/nbd2/pid", "12"); // of another program
    process(12, "qemu-nbd --connect=/dev/nbd2");
    file("block/nbd3/pid", "13"); // taken over
    process(23, "/usr/bin/rbd-nbd attach rbd/csi-vol-3 --device /dev/nbd3");
    file("block/nbd4/size", "0"); // not in use
    file("block/sda/pid", "14");
    assertThat(List.of("nbd0", "nbd1", "nbd2", "nbd3", "nbd4", "sda"))
        .filteredOn(name -> nbd().isDead(Path.of("/dev", name)))
        .containsExactly("nbd0", "nbd1");
  }

  /** The number of the process that died is one of another device by now. */
  @Test
  void anNbdDeviceIsNotAliveBecauseOfTheProcessOfAnotherOne() throws IOException {
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "rbd/csi-vol-1");
    process(10, "/usr/bin/rbd-nbd map rbd/csi-vol-9 --try-netlink --cookie=rbd/csi-vol-9");
    file("block/nbd1/pid", "11"); // ceph-csi's
    file("block/nbd1/backend", "0001-0011-cluster-0000000000000002-volume");
    process(11, "/usr/bin/rbd-nbd map rbd/csi-vol-8 --cookie=0001-another");
    file("block/nbd2/pid", "12"); // of a kernel that keeps no identifier
    process(12, "/usr/bin/rbd-nbd attach rbd/csi-vol-7 --device /dev/nbd9");
    assertThat(nbd().list())
        .containsExactly(new AttachedDevice(AttacherKind.NBD, IMAGE, Path.of("/dev/nbd0"), false));
  }

  @Test
  void whatTookAnNbdDeviceOverTellsItsImageWhenItHasTheIdentifier() throws IOException {
    String attach = "/usr/bin/rbd-nbd attach rbd/csi-vol-1 --device=/dev/nbd0";
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "0001-0011-cluster-0000000000000002-volume");
    process(20, attach);
    process(21, attach + " --cookie=0001-another");
    assertThat(nbd().list()).isEmpty();
    process(22, attach + " --cookie 0001-0011-cluster-0000000000000002-volume");
    assertThat(nbd().list())
        .containsExactly(new AttachedDevice(AttacherKind.NBD, IMAGE, Path.of("/dev/nbd0"), true));
  }

  @Test
  void aProcessOfAPodServesNoNbdDeviceWhateverItIsCalled() throws IOException {
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "rbd/csi-vol-1");
    processOfPod(10, "/usr/bin/rbd-nbd -m 10.0.0.1 map rbd/csi-vol-1 --cookie=rbd/csi-vol-1");
    file("block/nbd1/pid", "11");
    processOfPod(21, "rbd-nbd attach rbd/csi-vol-3 --device=/dev/nbd1 -m 10.0.0.1");
    AttachedDevice dead = new AttachedDevice(AttacherKind.NBD, IMAGE, Path.of("/dev/nbd0"), false);
    assertThat(nbd().list()).containsExactly(dead);
    assertThat(nbd().isOf(dead, request("fsid", "10.0.0.1"))).isEmpty();
  }

  @Test
  void krbdDevicesAreDeadWhenTheKernelShowsNone() throws IOException {
    assertThat(krbd().isDead(Path.of("/dev/rbd1"))).isFalse(); // there is no /sys to tell
    krbd(0, "rbd", "", "csi-vol-1", "-");
    krbd(4, "rbd", "", "csi-vol-3", "snap");
    assertThat(List.of("rbd0", "rbd1", "rbd4", "rbd", "sda"))
        .filteredOn(name -> krbd().isDead(Path.of("/dev", name)))
        .containsExactly("rbd1");
  }

  @Test
  void aDeviceIsNotUsedWhileAnEarlierOneOfItsNameIsBound() {
    Path any = Sysfs.in(Path.of("/sys/dev/block"), "*").get(0);
    BlockDevice device = new BlockDevice(Path.of("/dev/it"), any.getFileName().toString());
    String bind = "32 22 0:6 /%s//deleted /pods/old rw - devtmpfs devtmpfs rw";
    device.requireNoBindOfEarlier(MountTable.parse(String.format(bind, device.name() + "1")));
    assertThatThrownBy(
            () ->
                device.requireNoBindOfEarlier(MountTable.parse(String.format(bind, device.name()))))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining("/pods/old");
  }

  /** The kernel has it until the last byte is written, long after it is mounted nowhere. */
  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void anNbdDeviceWhoseFileSystemIsNotGoneIsNotTakenAway(String kind) throws IOException {
    file("block/nbd0/pid", "10");
    file("block/nbd0/backend", "rbd/csi-vol-1");
    process(10, "/usr/bin/rbd-nbd map rbd/csi-vol-1 --try-netlink");
    Files.createDirectories(sys.resolve("fs").resolve(kind).resolve("nbd0"));
    assertThatThrownBy(() -> nbd().detach(IMAGE, ""))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED))
        .hasMessageContaining(kind + " on /dev/nbd0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        "'' | noudev,alloc_size=33554432",
        "lock_on_read,queue_depth=64 | noudev,alloc_size=33554432,lock_on_read,queue_depth=64",
        "alloc_size=65536 | noudev,alloc_size=65536"
      })
  void krbdDiscardsWholeObjectsUnlessItIsTold(String given, String expected) {
    assertThat(KrbdAttacher.options(given, "")).isEqualTo(expected);
  }
}
