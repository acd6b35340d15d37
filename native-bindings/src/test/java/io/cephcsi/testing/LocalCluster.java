package io.cephcsi.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A cluster of Debian's daemons on loopback, run by ci/ceph; taken down when the JVM ends. */
public final class LocalCluster extends TestCluster {
  /** The daemon that copies images from another cluster to this one. */
  public static final String MIRROR_DAEMON = "rbd-mirror.a";

  private static final Pattern EXPORT = Pattern.compile("export (\\w+)='([^']*)'");

  private final String name;
  private final Path folder;
  private final String monitors;
  private List<String> mirrorStarter = List.of();

  private LocalCluster(String name) {
    this.name = name;
    this.folder = Path.of(setting("CEPH_CI_CLUSTER_DIR"));
    this.monitors = setting("CEPH_MON_HOST");
  }

  static LocalCluster up(String name, String... options) {
    String full = name + "-" + ProcessHandle.current().pid();
    List<String> command = script("up", full);
    // However this JVM ends, the cluster ends with it.
    command.addAll(List.of("--while", Long.toString(ProcessHandle.current().pid())));
    command.addAll(List.of(options));
    try {
      Commands.run(command);
    } catch (IllegalStateException first) {
      // Its ports may have been taken between their choice and the monitor's start.
      System.err.println("starting a cluster again: " + first.getMessage());
      Commands.run(script("down", full));
      Commands.run(command);
    }
    return new LocalCluster(full);
  }

  private static List<String> script(String... args) {
    List<String> command = new ArrayList<>();
    command.add(root().resolve("ci/ceph").toString());
    command.addAll(List.of(args));
    return command;
  }

  /** The project's folder: the nearest one above that has ci/ceph. */
  public static Path root() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.isExecutable(folder.resolve("ci/ceph"))) {
      folder = folder.getParent();
      if (folder == null) {
        throw new IllegalStateException("ci/ceph is not found above the working folder");
      }
    }
    return folder;
  }

  private String setting(String variable) {
    Matcher matcher = EXPORT.matcher(Commands.run(script("env", name)));
    while (matcher.find()) {
      if (matcher.group(1).equals(variable)) {
        return matcher.group(2);
      }
    }
    throw new IllegalStateException("ci/ceph env does not print " + variable);
  }

  @Override
  public Path conf() {
    return folder.resolve("ceph.conf");
  }

  @Override
  public String monitors() {
    return monitors;
  }

  @Override
  public String rbdUser() {
    return "csi-rbd-provisioner";
  }

  @Override
  public String cephFsUser() {
    return "csi-cephfs-provisioner";
  }

  @Override
  protected Path keyring(String user) {
    return folder.resolve("client." + user + ".keyring");
  }

  /**
   * Lets this cluster and another one mirror images of their pools {@code rbd} both ways, by the
   * daemon {@link #MIRROR_DAEMON} of each.
   */
  public void mirrorWith(LocalCluster other) {
    Commands.run(script("mirror", name, "--with", other.name));
  }

  /**
   * Has {@link #MIRROR_DAEMON} run on another machine, from now on.
   *
   * @param starter a program that runs a program there, and its own arguments
   */
  public void runMirrorBy(List<String> starter) {
    mirrorStarter = List.copyOf(starter);
    kill(MIRROR_DAEMON);
    restart(MIRROR_DAEMON);
  }

  /** Freezes all daemons: a cluster that hangs. */
  public void pause() {
    Commands.run(script("pause", name));
  }

  /** Lets frozen daemons go on. */
  public void resume() {
    Commands.run(script("resume", name));
  }

  /** Ends all daemons; their data stays. */
  public void stop() {
    Commands.run(script("stop", name));
  }

  /** Starts the daemons again. */
  public void restart() {
    Commands.run(script("start", name));
  }

  /**
   * Ends one daemon; its data stays.
   *
   * @param daemon such as {@code osd.1}
   */
  public void stop(String daemon) {
    Commands.run(script("stop", name, "--daemon", daemon));
  }

  /**
   * Kills one daemon, which can say goodbye to nobody; its data stays. Returns when it is gone.
   *
   * @param daemon such as {@code osd.1}
   */
  public void kill(String daemon) {
    try {
      String pid = pid(daemon);
      ProcessHandle.of(Long.parseLong(pid))
          .filter(process -> isOurs(pid))
          .ifPresent(
              process -> {
                process.destroyForcibly();
                process.onExit().orTimeout(30, TimeUnit.SECONDS).join();
              });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String pid(String daemon) throws IOException {
    return Files.readString(folder.resolve("run").resolve(daemon + ".pid")).strip();
  }

  /** As {@link #pause(String)}, but within some milliseconds. */
  public void freeze(String daemon) {
    try {
      String pid = pid(daemon);
      if (isOurs(pid)) {
        Commands.run(List.of("kill", "-STOP", pid));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A recorded pid counts only while that process was started with this cluster's ceph.conf. */
  private boolean isOurs(String pid) {
    try {
      return Files.readString(Path.of("/proc", pid, "cmdline")).contains(conf() + "\0");
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  /** Starts one daemon again. */
  public void restart(String daemon) {
    List<String> command =
        new ArrayList<>(daemon.equals(MIRROR_DAEMON) ? mirrorStarter : List.of());
    command.addAll(script("start", name, "--daemon", daemon));
    Commands.run(command);
  }

  /** Freezes one daemon. */
  public void pause(String daemon) {
    Commands.run(script("pause", name, "--daemon", daemon));
  }

  /** Lets one frozen daemon go on. */
  public void resume(String daemon) {
    Commands.run(script("resume", name, "--daemon", daemon));
  }

  @Override
  public void close() {
    Commands.run(script("down", name));
  }
}
