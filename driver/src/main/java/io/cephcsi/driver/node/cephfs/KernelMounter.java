package io.cephcsi.driver.node.cephfs;

import io.cephcsi.driver.cluster.KernelMonitors;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.KernelModule;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.Mounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** CephFS by the kernel's ceph module and mount.ceph(8). */
public final class KernelMounter implements CephFsMounter {
  private static final String FS_TYPE = "ceph";
  private static final String FILE_SYSTEM = "mds_namespace=";
  private static final String MESSENGER = "ms_mode=";
  private static final String PREFER_CRC = MESSENGER + "prefer-crc";
  private static final Path FILE_SYSTEMS = Path.of("/proc/filesystems");

  private final CrushLocation location;

  /**
   * @param location where this node is
   */
  public KernelMounter(CrushLocation location) {
    this.location = location;
  }

  @Override
  public String name() {
    return "kernel";
  }

  @Override
  public Optional<String> unavailable() {
    return KernelModule.missing("mount.ceph")
        .or(
            () ->
                isKnown()
                    ? Optional.empty()
                    : KernelModule.load("ceph", Path.of("/sys/module/ceph")));
  }

  /** Built in or loaded: a module that is not there may be loaded by others behind our back. */
  private static boolean isKnown() {
    try (Stream<String> lines = Files.lines(FILE_SYSTEMS)) {
      return lines.anyMatch(line -> line.endsWith("\t" + FS_TYPE));
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public boolean made(Mount mount) {
    return mount.fsType().equals(FS_TYPE);
  }

  /** The source is {@code monitors:/path} or, on newer kernels, {@code user@fsid.name=/path}. */
  @Override
  public boolean shows(Mount mount, String fileSystem, String root) {
    boolean here =
        mount.source().endsWith(":" + root)
            || mount.source().endsWith("." + fileSystem + "=" + root);
    return here
        && mount.superOptions().stream()
            .filter(option -> option.startsWith(FILE_SYSTEM))
            .allMatch(option -> option.equals(FILE_SYSTEM + fileSystem));
  }

  @Override
  public void mount(Request request, Path target) {
    boolean wantsV2 =
        request.options().stream()
            .anyMatch(o -> o.startsWith(MESSENGER) && !o.equals(MESSENGER + "legacy"));
    KernelMonitors monitors = KernelMonitors.of(request.cluster(), wantsV2);
    List<String> options = new ArrayList<>();
    options.add("name=" + request.credentials().userId());
    options.add("secretfile=/proc/self/fd/0");
    options.add(FILE_SYSTEM + request.fileSystem());
    if (monitors.messengerV2() && !wantsV2) {
      options.add(PREFER_CRC);
    }
    if (request.readOnly()) {
      options.add("ro");
    }
    String near = location.options(request.cluster(), String.join(",", request.options()));
    if (!near.isEmpty()) {
      options.addAll(List.of(near.split(",", -1)));
    }
    options.addAll(request.options());
    String source = String.join(",", monitors.addresses()) + ":" + request.root();
    Command mount =
        Command.of("mount", "-t", FS_TYPE, "-o")
            .with(Argument.options("mount options", Mounts.overNetwork(options)))
            .inNetwork(request.cluster().node().cephFsNetwork())
            .with("--")
            .with(Argument.of("the volume's path", source))
            .with(Argument.path(target))
            .input(request.credentials().key());
    try {
      mount.run();
    } catch (CommandException e) {
      RuntimeException explained = MountErrors.explained(e, request);
      throw explained == e ? MountFlags.explained(e) : explained;
    }
  }

  /** The kernel writes everything before it unmounts. */
  @Override
  public void awaitEnd(Path target) {}
}
