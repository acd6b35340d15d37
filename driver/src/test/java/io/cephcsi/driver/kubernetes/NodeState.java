package io.cephcsi.driver.kubernetes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What nodes have of volumes: mounts, loop devices, processes. */
final class NodeState {
  /** Prints it in the container of a node plugin, which has the node's processes. */
  private static final String SCRIPT =
      """
      grep -E 'kubernetes.io~csi|kubernetes.io/csi' /proc/1/mountinfo
      cat /sys/block/loop*/loop/backing_file 2>/dev/null | grep -F /run/ceph-csi/
      for exe in /proc/[0-9]*/exe; do readlink $exe; done 2>/dev/null |
        grep -E '/(qemu-storage-daemon|ceph-fuse|rbd-nbd)$'
      true
      """;

  private NodeState() {}

  /** All of it. The node of ci/kubernetes' own cluster is this machine, as the tests see it. */
  static List<String> left(DriverPods driver) {
    return Files.isDirectory(Kubernetes.folder().resolve("kubelet"))
        ? here()
        : driver.onNodes(SCRIPT).stream().flatMap(String::lines).toList();
  }

  private static List<String> here() {
    try (Stream<String> mounts = Files.lines(Path.of("/proc/self/mountinfo"));
        Stream<Path> loops = Files.list(Path.of("/sys/block"))) {
      List<String> left =
          mounts
              .filter(
                  line -> line.contains("kubernetes.io~csi") || line.contains("kubernetes.io/csi"))
              .collect(Collectors.toCollection(ArrayList::new));
      loops
          .map(loop -> loop.resolve("loop/backing_file"))
          .filter(Files::exists)
          .map(NodeState::text)
          .filter(file -> file.contains(Kubernetes.folder().toString()))
          .forEach(left::add);
      ProcessHandle.allProcesses()
          .map(process -> process.info().command().orElse(""))
          .filter(command -> command.matches(".*/(qemu-storage-daemon|ceph-fuse|rbd-nbd)"))
          .forEach(left::add);
      return left;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return ""; // the device went away
    }
  }
}
