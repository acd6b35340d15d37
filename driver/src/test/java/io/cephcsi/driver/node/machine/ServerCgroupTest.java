package io.cephcsi.driver.node.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServerCgroupTest {
  /** A privileged container of runc with the machine's /sys: its own cgroups, and over them all. */
  private static final String VERSION_1 =
      """
      77 75 0:44 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
      78 77 0:29 /kubepods/pod1/c1 /sys/fs/cgroup/cpu rw shared:7 - cgroup cgroup rw,cpu
      79 77 0:32 /kubepods/pod1/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
      92 68 0:20 / /sys rw - sysfs sysfs rw
      93 92 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
      94 93 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
      95 93 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
      96 93 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
      97 93 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
      """;

  @TempDir private Path folder;

  @Test
  void itIsInEachHierarchyOfTheMachine() {
    assertThat(ServerCgroup.folders(MountTable.parse(VERSION_1), "servers"))
        .containsExactly(
            Path.of("/sys/fs/cgroup/cpu/servers"),
            Path.of("/sys/fs/cgroup/memory/servers"),
            Path.of("/sys/fs/cgroup/systemd/servers"),
            Path.of("/sys/fs/cgroup/unified/servers"));
    assertThat(
            ServerCgroup.folders(
                MountTable.parse("35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate"),
                "servers"))
        .containsExactly(Path.of("/sys/fs/cgroup/servers"));
  }

  @Test
  void itIsNotInWhatAContainerHasForItself() {
    assertThat(
            ServerCgroup.folders(
                MountTable.parse(
                    """
                    78 77 0:29 /docker/c1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
                    79 77 0:32 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory
                    80 77 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
                    81 77 0:50 / /sys/fs/cgroup/unified rw - tmpfs tmpfs rw
                    """),
                "servers"))
        .isEmpty();
  }

  @Test
  void namespacesOfAContainerAreInTheWay() {
    assertThat(ServerCgroup.obstacle("0::/", "0::/").orElseThrow()).contains("hostPID");
    assertThat(ServerCgroup.obstacle("0::/", "0::/../../init.scope").orElseThrow())
        .contains("cgroup namespace");
    assertThat(ServerCgroup.obstacle("0::/kubepods/pod1/c1", "0::/init.scope")).isEmpty();
  }

  @Test
  void whereThereIsNoProgramThatServesVolumesNothingIsSaidOrMade() {
    ServerCgroup none = ServerCgroup.of(folder, "no-such-program");
    assertThat(none.run(Command.of("cat", "/proc/self/cgroup")))
        .isEqualToIgnoringNewLines(Sysfs.text(Path.of("/proc/self/cgroup")).orElseThrow());
    none.removeEmpty();
  }

  /** Also on machines where processes have to stay where they are. */
  @Test
  void programsGetTheirArgumentsAndInputAndAreNamedAsTheyAre() throws Exception {
    ServerCgroup servers = ServerCgroup.of(folder, "cat");
    try {
      assertThat(servers.run(Command.of("printf", "%s|", "a b", "$HOME;`id`", "--", "*")))
          .isEqualTo("a b|$HOME;`id`|--|*|");
      assertThat(servers.run(Command.of("cat").input("s3cret"))).isEqualTo("s3cret");
      assertThat(catchThrowable(() -> servers.run(Command.of("ls", "/no/such/folder"))))
          .isInstanceOf(CommandException.class)
          .hasMessageStartingWith("ls /no/such/folder ended with exit code 2");
    } finally {
      servers.removeEmpty();
    }
    for (Path left : ServerCgroup.folders(MountTable.read(), name())) {
      assertThat(Files.exists(left)).as(left.toString()).isFalse();
    }
  }

  private String name() {
    return "ceph-csi-java" + folder.toString().replace('/', '-');
  }
}
