package io.cephcsi.driver.node.attach;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.node.machine.Polling;
import io.cephcsi.driver.node.machine.Processes;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The qemu-storage-daemon that shows one image as a file, found by its command line: no number is
 * kept that could be another process's by now.
 *
 * @param folder its own, with the file {@code image} that it shows the RBD image at
 */
record StorageDaemon(Path folder) {
  static final String PROGRAM = "qemu-storage-daemon";

  /** The nodes of the image: at a refresh the one that is not in use gets it. */
  private static final Pattern GONE =
      Pattern.compile("error reading header from .*: No such file or directory");

  private static final List<String> IMAGES = List.of("image", "image2");

  /** The node that is exported, which passes all on to one of the former. */
  private static final String SHOWN = "shown";

  private static final String NAME = "node-name";
  private static final Duration START = Duration.ofSeconds(45);
  private static final Duration END = Duration.ofSeconds(30);
  private static final Duration KILLED = Duration.ofSeconds(5);

  /** The file that it shows. */
  Path file() {
    return folder.resolve("image");
  }

  private Path socket() {
    return folder.resolve("qmp");
  }

  private Path clusterFile() {
    return folder.resolve("ceph.conf");
  }

  /** The option that tells this daemon from others. */
  private String mountPoint() {
    return "mountpoint=" + quoted(file());
  }

  /** A value in a comma-separated list of qemu's options. */
  private static String quoted(Object value) {
    return value.toString().replace(",", ",,");
  }

  /** The running process. */
  Optional<ProcessHandle> process() {
    return Processes.find(PROGRAM, this::isOurs)
        .flatMap(one -> ProcessHandle.of(Long.parseLong(String.valueOf(one.getFileName()))));
  }

  private boolean isOurs(List<String> arguments) {
    return arguments.stream().anyMatch(one -> List.of(one.split(",", -1)).contains(mountPoint()));
  }

  /** Whether the image can be read and written through the file. */
  boolean serves() {
    return MountTable.read().at(file()).isPresent() && process().isPresent();
  }

  /**
   * Starts it; returns when the file shows the image.
   *
   * @param servers where it runs
   */
  void start(AttachRequest request, List<String> settings, ServerCgroup servers) {
    Credentials user = request.credentials();
    ImageSpec image = request.image();
    prepareFiles(request, settings);
    Map<String, Object> node = opened(IMAGES.get(0), image, user.userId(), request.readOnly());
    Command daemon =
        Command.of(PROGRAM, "--daemonize")
            .inNetwork(request.cluster().node().rbdNetwork())
            .with("--object", "secret,id=key,format=base64,file=/dev/stdin")
            .with("--blockdev")
            .with(json(node))
            .with("--blockdev")
            .with(json(shown(IMAGES.get(0), request.readOnly())))
            .with("--chardev")
            .with(
                Argument.of(
                    "the socket", "socket,id=qmp,server=on,wait=off,path=" + quoted(socket())))
            .with("--monitor", "chardev=qmp", "--export")
            .with(
                Argument.of(
                    "the export",
                    "type=fuse,id=export,node-name="
                        + SHOWN
                        + ","
                        + mountPoint()
                        + ",growable=off,writable="
                        + (request.readOnly() ? "off" : "on")))
            .input(user.key())
            .within(START);
    try {
      servers.run(daemon);
    } catch (CommandException e) {
      throw GONE.matcher(String.valueOf(e.getMessage())).find()
          ? new VolumeException(
              Reason.NOT_FOUND, "image " + image.image() + " was removed meanwhile", e)
          : e;
    }
  }

  private void prepareFiles(AttachRequest request, List<String> settings) {
    List<String> lines = new ArrayList<>();
    lines.add("[global]");
    lines.add("mon_host = " + String.join(",", request.cluster().monitors()));
    // While it opens the image once more, all that is read and written waits: with monitors that
    // are all gone it would be for 300 s.
    lines.add("client_mount_timeout = 10");
    lines.addAll(settings);
    try {
      Files.deleteIfExists(socket());
      Files.write(clusterFile(), lines);
      if (!Files.exists(file())) {
        Files.createFile(file());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Map<String, Object> opened(
      String name, ImageSpec image, String userId, boolean readOnly) {
    Map<String, Object> node = new LinkedHashMap<>(Map.of("driver", "rbd", NAME, name));
    node.put("pool", image.pool());
    if (!image.namespace().isEmpty()) {
      node.put("namespace", image.namespace());
    }
    node.put("image", image.image());
    node.put("user", userId);
    node.put("key-secret", "key");
    node.put("conf", clusterFile().toString());
    node.putAll(access(readOnly));
    return node;
  }

  private static Map<String, Object> access(boolean readOnly) {
    return Map.of("discard", "unmap", "cache", Map.of("direct", true), "read-only", readOnly);
  }

  private static Map<String, Object> shown(String image, boolean readOnly) {
    Map<String, Object> node = new LinkedHashMap<>(access(readOnly));
    node.putAll(Map.of("driver", "raw", NAME, SHOWN, "file", image));
    return node;
  }

  private static Argument json(Map<String, Object> node) {
    try {
      return Argument.of("the image", Json.mapper().writeValueAsString(node));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Lets it see the new size of its image, by opening it once more: it is never told a size, which
   * it would give the image, be that larger by now or not. May be repeated when it was cut off;
   * what is read and written meanwhile waits for a moment.
   *
   * @param userId whose key it was started with
   * @param readOnly whether it was started so
   */
  void refresh(ImageSpec image, String userId, boolean readOnly) {
    MachineProtocol.at(
        socket(),
        qemu -> {
          for (String name : IMAGES) {
            qemu.attempt("blockdev-del", Map.of(NAME, name)); // the one in use stays
          }
          Set<String> used = nodes(qemu);
          String fresh = IMAGES.stream().filter(n -> !used.contains(n)).findFirst().orElseThrow();
          qemu.execute("blockdev-add", opened(fresh, image, userId, readOnly));
          qemu.execute("blockdev-reopen", Map.of("options", List.of(shown(fresh, readOnly))));
          for (String name : IMAGES) {
            if (used.contains(name)) {
              qemu.execute("blockdev-del", Map.of(NAME, name));
            }
          }
        });
  }

  private static Set<String> nodes(MachineProtocol qemu) throws IOException {
    Set<String> names = new HashSet<>();
    qemu.execute("query-named-block-nodes", Map.of("flat", true))
        .forEach(node -> names.add(node.path(NAME).asText()));
    return names;
  }

  /**
   * Ends it as it should, so that all that was written is on the cluster; nothing to do when it
   * does not run.
   *
   * @throws CommandException if it does not end in time: the cluster may hang
   */
  void stop() {
    Optional<ProcessHandle> process = process();
    process.ifPresent(ProcessHandle::destroy);
    if (!Polling.until(END, () -> process().isEmpty())) {
      throw new CommandException(
          PROGRAM + " of " + file() + " does not end: does the cluster answer?",
          CommandException.TIMED_OUT);
    }
  }

  /** Ends it at once: for one that does not serve, or whose file nobody uses. */
  void kill() {
    process().ifPresent(ProcessHandle::destroyForcibly);
    if (!Polling.until(KILLED, () -> process().isEmpty())) {
      throw new CommandException(
          PROGRAM + " of " + file() + " cannot be killed", CommandException.TIMED_OUT);
    }
  }

  /** Removes what is left of one that has ended. */
  void removeFiles() {
    if (MountTable.read().at(file()).isPresent()) {
      Mounts.forgetDead(file());
    }
    try {
      Files.deleteIfExists(socket());
      Files.deleteIfExists(clusterFile());
      Files.deleteIfExists(file());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
