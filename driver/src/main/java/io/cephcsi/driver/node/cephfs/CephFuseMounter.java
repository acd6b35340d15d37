package io.cephcsi.driver.node.cephfs;

import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.KernelModule;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.Processes;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * CephFS by a process ceph-fuse, which serves its mount until that is taken away, and ends then.
 * What it shows is written in the mount's source, so that a mount can be told from another.
 */
public final class CephFuseMounter implements CephFsMounter {
  private static final String PROGRAM = "ceph-fuse";
  private static final String FS_TYPE = "fuse." + PROGRAM;
  private static final Duration ENDING = Duration.ofSeconds(30);

  /** It gives the path of its mount to a shell, as it is, when it calls mount(8). */
  private static final Pattern NOTHING_FOR_A_SHELL = Pattern.compile("[A-Za-z0-9/._~:@%+,=-]+");

  /** What shapes a mount for the kernel, and has no meaning for FUSE: it refuses these. */
  private static final Set<String> NOT_OF_FUSE =
      Set.of(
          "silent",
          "loud",
          "nofail",
          "_netdev",
          "diratime",
          "nodiratime",
          "relatime",
          "norelatime",
          "strictatime",
          "nostrictatime",
          "lazytime",
          "nolazytime",
          "iversion",
          "noiversion");

  private final ServerCgroup servers;

  /**
   * @param servers where the processes run
   */
  public CephFuseMounter(ServerCgroup servers) {
    this.servers = servers;
  }

  @Override
  public String name() {
    return "fuse";
  }

  @Override
  public Optional<String> unavailable() {
    return KernelModule.missing(PROGRAM).or(() -> KernelModule.load("fuse", Path.of("/dev/fuse")));
  }

  @Override
  public boolean made(Mount mount) {
    return mount.fsType().equals(FS_TYPE);
  }

  @Override
  public boolean shows(Mount mount, String fileSystem, String root) {
    return mount.source().equals(PROGRAM) || mount.source().equals(source(fileSystem, root));
  }

  private static String source(String fileSystem, String root) {
    return (PROGRAM + ":" + fileSystem + ":" + root).replace("\\", "%5C").replace(",", "%2C");
  }

  @Override
  public void mount(Request request, Path target) {
    if (!NOTHING_FOR_A_SHELL.matcher(target.toString()).matches()) {
      throw VolumeException.invalid(
          PROGRAM
              + " gives the path of its mount to a shell: "
              + PlainText.show(target.toString())
              + " has other characters than letters, digits and /._~:@%+,=-");
    }
    if (!request.options().contains("nonempty")) {
      requireEmpty(target);
    }
    List<String> options = new ArrayList<>();
    options.add("subtype=" + PROGRAM);
    options.add("fsname=" + source(request.fileSystem(), request.root()));
    if (request.readOnly()) {
      options.add("ro");
    }
    request.options().stream()
        .filter(one -> !NOT_OF_FUSE.contains(one))
        .map(CephFuseMounter::escaped)
        .forEach(options::add);
    Command mount =
        Command.of(PROGRAM)
            .with(Argument.path(target))
            .with("--conf", "/dev/null")
            // It calls mount(8) when it has to free names, and would end itself if that failed: the
            // container's image may have been removed since it was started.
            .with("--client_die_on_failed_dentry_invalidate", "false")
            // Their usual places are in folders of the user ceph, who could put links there.
            .with("--log_file=", "--admin_socket=")
            .inNetwork(request.cluster().node().cephFsNetwork())
            .with("--mon_host")
            .with(Argument.of("monitors", String.join(",", request.cluster().monitors())))
            .with("--id")
            .with(Argument.of("the user's id", request.credentials().userId()))
            .with("--keyfile", "-", "--client_mountpoint")
            .with(Argument.of("the volume's path", request.root()))
            .with("--client_mds_namespace")
            .with(Argument.of("the file system", request.fileSystem()))
            .with("-o")
            .with(Argument.options("mount options", options))
            .input(request.credentials().key());
    try {
      servers.run(mount);
    } catch (CommandException e) {
      throw MountErrors.explained(e, request);
    }
  }

  /**
   * An option as libfuse takes it between others: it parts them at every comma, also between quotes
   * (those of categories in a context of SELinux), but for one behind a backslash. The kernel gets
   * the option without the backslash, and with its quotes.
   */
  static String escaped(String option) {
    return option.replace("\\", "\\\\").replace(",", "\\,");
  }

  private static void requireEmpty(Path target) {
    try (Stream<Path> files = Files.list(target)) {
      if (files.findAny().isPresent()) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            target + " is not empty: nothing is mounted over its files");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The process writes what it has cached, and ends. */
  @Override
  public void awaitEnd(Path target) {
    if (!Processes.awaitEnd(PROGRAM, words -> serves(words, target), ENDING)) {
      throw new CommandException(
          PROGRAM
              + " "
              + target
              + " has not ended "
              + ENDING.toSeconds()
              + " s after its mount was taken away: the cluster may be out of reach",
          CommandException.TIMED_OUT);
    }
    servers.removeEmpty();
  }

  private static boolean serves(List<String> arguments, Path target) {
    return !arguments.isEmpty() && arguments.get(0).equals(target.toString());
  }
}
