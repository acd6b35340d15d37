package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.node.machine.KernelModule;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Polling;
import io.cephcsi.driver.node.machine.Processes;
import io.cephcsi.driver.node.machine.SecretFile;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.node.machine.Sysfs;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Images as devices of the kernel's nbd module, each served by a process rbd-nbd, over netlink. The
 * kernel keeps the image's name as the device's identifier, so that a device is known by its image
 * even after its process has died; a new process then takes it over, as long as the kernel waits
 * for one (rbd-nbd's {@code reattach-timeout}, 30 s), and nothing that was written is lost.
 */
public final class NbdAttacher implements Attacher {
  private static final String PROGRAM = "rbd-nbd";
  private static final Path MODULE = Path.of("module/nbd");
  private static final Pattern NAME = Pattern.compile("nbd\\d+");
  private static final Pattern MONITORS = Pattern.compile("-m|--mon[-_]host(?:=(.*))?");
  private static final Pattern DEVICE = Pattern.compile("--device(?:=(.*))?");
  private static final Pattern COOKIE = Pattern.compile("--cookie(?:=(.*))?");
  private static final Duration MAPPING = Duration.ofSeconds(20);
  private static final Duration GROWING = Duration.ofSeconds(15);

  private final Path sys;
  private final Path proc;
  private final Path keys;
  private final ServerCgroup servers;

  /**
   * Those of this machine.
   *
   * @param keys for users' keys while programs read them, a {@link SecretFile#folder}
   * @param servers where the processes run
   */
  public NbdAttacher(Path keys, ServerCgroup servers) {
    this(Path.of("/sys"), Path.of("/proc"), keys, servers);
  }

  /**
   * @param sys instead of /sys
   * @param proc instead of /proc
   */
  NbdAttacher(Path sys, Path proc, Path keys, ServerCgroup servers) {
    this.sys = sys;
    this.proc = proc;
    this.keys = keys;
    this.servers = servers;
  }

  @Override
  public AttacherKind kind() {
    return AttacherKind.NBD;
  }

  @Override
  public Optional<String> unavailable() {
    return KernelModule.missing("rbd")
        .or(() -> KernelModule.missing(PROGRAM))
        .or(() -> KernelModule.load("nbd", sys.resolve(MODULE)));
  }

  @Override
  public AttachedDevice attach(AttachRequest request) {
    Optional<AttachedDevice> present = settled(request.image());
    if (present.isPresent()) {
      AttachedDevice device = present.get();
      BlockDevice block = BlockDevice.require(device.device());
      if (block.isReadOnly() == request.readOnly()
          && (device.alive() || !block.uses(MountTable.read()).isEmpty())) {
        return device.alive() ? device : servedAgain(request, device);
      }
      detach(request.image(), "");
    }
    serve(request, List.of(), List.of("try-netlink", "cookie=" + request.image()));
    return find(request.image())
        .orElseThrow(
            () ->
                new CommandException(
                    PROGRAM + " mapped " + request.image() + ", but the kernel has no device of it",
                    CommandException.NO_EXIT_CODE));
  }

  /**
   * The device of an image. What a driver that was killed had begun to map may be there a moment
   * later, or when the cluster answers again: that is waited for.
   *
   * @throws VolumeException ABORTED when it takes too long
   */
  private Optional<AttachedDevice> settled(ImageSpec image) {
    Optional<AttachedDevice> device = find(image);
    if (device.isEmpty() && isBeingMapped(image)) {
      if (!Polling.until(MAPPING, () -> !isBeingMapped(image) || find(image).isPresent())) {
        throw new VolumeException(
            Reason.ABORTED,
            "an earlier " + PROGRAM + " is still mapping " + image + "; try again later");
      }
      return find(image);
    }
    return device;
  }

  private static boolean isBeingMapped(ImageSpec image) {
    String name = image.argument().toString();
    return Stream.of("rbd", PROGRAM)
        .anyMatch(
            program ->
                Processes.find(
                        program,
                        words ->
                            words.contains("map")
                                && words.contains(name)
                                && (program.equals(PROGRAM) || words.contains("nbd")))
                    .isPresent());
  }

  /** A new process for a device whose process has died; here rbd wants to see the cookie, too. */
  private AttachedDevice servedAgain(AttachRequest request, AttachedDevice device) {
    serve(request, List.of(Argument.path(device.device())), List.of("try-netlink"));
    return new AttachedDevice(AttacherKind.NBD, device.image(), device.device(), true);
  }

  /**
   * @param again the device that is to be served again; empty for a new one
   */
  private void serve(AttachRequest request, List<Argument> again, List<String> usual) {
    Argument image = request.image().argument();
    List<String> options = new ArrayList<>(usual);
    if (!request.mapOptions().isEmpty()) {
      options.addAll(List.of(request.mapOptions().split(",", -1)));
    }
    // rbd starts rbd-nbd, which reads the key once more: it cannot come from their input.
    try (SecretFile key = SecretFile.of(keys, image.toString(), request.credentials().key())) {
      Command command = RbdProgram.as(request, key.path());
      // Their usual places are in folders of the user ceph, who could put links there.
      command = command.with("--admin_socket=");
      command =
          request.log().isPresent()
              ? command.with("--log_file").with(Argument.path(request.log().get()))
              : command.with("--log_file=");
      command = command.with("device");
      command =
          again.isEmpty()
              ? command.with("map")
              : command.with("attach", "--device").with(again).with("--cookie").with(image);
      if (request.readOnly()) {
        command = command.with("--read-only");
      }
      servers.run(
          command
              .with("--device-type", "nbd", "--options")
              .with(Argument.options("mapOptions", options))
              .with("--")
              .with(image));
    }
  }

  @Override
  public List<AttachedDevice> list() {
    return Sysfs.in(sys.resolve("block"), "nbd[0-9]*").stream()
        .flatMap(block -> attached(block).stream())
        .toList();
  }

  /** The kernel tells a process for each device in use, even when it has ended. */
  private Optional<AttachedDevice> attached(Path block) {
    Optional<String> pid = Sysfs.text(block.resolve("pid"));
    if (pid.isEmpty()) {
      return Optional.empty();
    }
    List<String> words = server(block, pid.get());
    boolean alive = !words.isEmpty();
    return Sysfs.text(block.resolve("backend"))
        .flatMap(NbdAttacher::spec)
        .or(() -> alive ? served(words) : Optional.empty())
        .map(
            image ->
                new AttachedDevice(
                    AttacherKind.NBD,
                    image,
                    Path.of("/dev").resolve(String.valueOf(block.getFileName())),
                    alive));
  }

  /**
   * Also one whose image nothing tells: ceph-csi gave it an identifier of its own, or the kernel
   * keeps none. A server that is not ours keeps its device as long as its process is there.
   */
  @Override
  public boolean isDead(Path device) {
    Path block = sys.resolve("block").resolve(String.valueOf(device.getFileName()));
    boolean ended =
        NAME.matcher(String.valueOf(device.getFileName())).matches()
            && Sysfs.text(block.resolve("pid"))
                .filter(pid -> Processes.commandLine(proc.resolve(pid)).isEmpty())
                .filter(pid -> server(block, pid).isEmpty())
                .isPresent();
    return ended || Attacher.super.isDead(device);
  }

  /**
   * The command line of the process that serves a device; empty when none does. The kernel tells
   * the first process also when another one has taken the device over, and when its number is
   * another process's by now.
   */
  private List<String> server(Path block, String pid) {
    return serverAt(proc.resolve(pid), block, "map")
        .or(
            () ->
                Sysfs.in(proc, "[0-9]*").stream()
                    .flatMap(one -> serverAt(one, block, "attach").stream())
                    .findFirst())
        .orElse(List.of());
  }

  /** The command line of a process of ours that was started so for a device. */
  private static Optional<List<String>> serverAt(Path process, Path block, String action) {
    return Optional.of(Processes.commandLine(process))
        .filter(words -> !words.isEmpty() && words.get(0).endsWith(PROGRAM))
        .filter(words -> words.contains(action) && isFor(block, words, action.equals("map")))
        .filter(words -> Processes.isOurs(process));
  }

  /**
   * Whether what a process was told is true of a device. The first one need not be told the device
   * and its identifier, which are then made up; what took it over is told both.
   */
  private static boolean isFor(Path block, List<String> words, boolean first) {
    Optional<String> identifier = Sysfs.text(block.resolve("backend")); // not of each kernel
    Optional<ImageSpec> image = identifier.flatMap(NbdAttacher::spec);
    String device = "/dev/" + block.getFileName();
    return value(words, DEVICE).map(device::equals).orElse(first)
        && (image.isPresent()
            ? image.equals(served(words))
            : identifier
                .map(text -> value(words, COOKIE).map(text::equals).orElse(first))
                .orElse(true));
  }

  /** The image that a process was started for, by whomever: the word behind the action. */
  private static Optional<ImageSpec> served(List<String> words) {
    for (int i = 1; i + 1 < words.size(); i++) {
      if (words.get(i).equals("map") || words.get(i).equals("attach")) {
        return spec(words.get(i + 1));
      }
    }
    return Optional.empty();
  }

  /**
   * The process of a device was told the monitors. Those of a cluster change, so other ones do not
   * say that it is another cluster.
   */
  @Override
  public Optional<Boolean> isOf(AttachedDevice device, AttachRequest request) {
    Set<String> known = new HashSet<>();
    request.cluster().monitors().forEach(one -> known.addAll(addresses(one)));
    Path block = sys.resolve("block").resolve(String.valueOf(device.device().getFileName()));
    return Sysfs.text(block.resolve("pid"))
        .map(pid -> monitors(server(block, pid)))
        .filter(monitors -> monitors.stream().anyMatch(known::contains))
        .map(monitors -> true);
  }

  private static List<String> monitors(List<String> words) {
    return value(words, MONITORS).map(NbdAttacher::addresses).orElse(List.of());
  }

  /** The value of an option: behind an equals sign, or the next word. */
  private static Optional<String> value(List<String> words, Pattern name) {
    for (int i = 1; i < words.size(); i++) {
      Matcher option = name.matcher(words.get(i));
      if (option.matches()) {
        String value = option.group(1);
        return Optional.of(value != null ? value : i + 1 < words.size() ? words.get(i + 1) : "");
      }
    }
    return Optional.empty();
  }

  /**
   * The monitors of a list such as {@code [v2:10.0.0.1:3300,v1:10.0.0.1:6789],10.0.0.2}: without
   * the two ports that a monitor has when nothing else is said, as one list may name either and
   * another one none.
   */
  private static List<String> addresses(String list) {
    return Arrays.stream(list.split("[\\s,;]+", -1))
        .map(one -> one.replaceFirst("^\\[?(v[12]:)", "").replaceFirst("(/0)?]?$", ""))
        .map(one -> one.replaceFirst("^([^:]*):(3300|6789)$", "$1"))
        .map(one -> one.replaceFirst("^\\[([^]]*)]?(:(3300|6789))?$", "$1")) // IPv6
        .filter(one -> !one.isEmpty())
        .toList();
  }

  /** Reads {@code pool/image} or {@code pool/namespace/image}; snapshots are not ours. */
  private static Optional<ImageSpec> spec(String text) {
    String[] parts = text.split("/", -1);
    if (text.contains("@") || parts.length < 2 || parts.length > 3) {
      return Optional.empty();
    }
    return Optional.of(
        parts.length == 2
            ? new ImageSpec(parts[0], "", parts[1])
            : new ImageSpec(parts[0], parts[1], parts[2]));
  }

  /**
   * The kernel takes a device away even while it is in use, so we look: also for a file system that
   * is mounted nowhere that we see, as umount(2) hides it before it writes what is left.
   */
  @Override
  public void detach(ImageSpec image, String unmapOptions) {
    Optional<AttachedDevice> device = settled(image);
    if (device.isEmpty()) {
      return;
    }
    if (device.get().alive()) {
      requireNoFileSystem(device.get().device());
    }
    BlockDevice.require(device.get().device()).requireUnused(MountTable.read());
    Command unmap = RbdProgram.local().with("device", "unmap", "--device-type", "nbd");
    if (!unmapOptions.isEmpty()) {
      unmap = unmap.with("--options").with(Argument.of("unmapOptions", unmapOptions));
    }
    Command.Result result = unmap.with("--").with(Argument.path(device.get().device())).tryRun();
    if (result.exitCode() != 0 && find(image).isPresent()) {
      throw new CommandException(
          "rbd device unmap " + device.get().device() + " of " + image + ": " + result.said(),
          result.exitCode());
    }
    servers.removeEmpty();
  }

  private void requireNoFileSystem(Path device) {
    for (String kind : List.of(DiskFileSystems.EXT4, DiskFileSystems.XFS)) {
      if (Files.exists(sys.resolve("fs").resolve(kind).resolve(device.getFileName()))) {
        throw new VolumeException(
            Reason.ABORTED,
            "the "
                + kind
                + " on "
                + device
                + " is still in use or being unmounted; try again later");
      }
    }
  }

  /**
   * rbd-nbd sees by itself that its image has grown. That of Ceph 16 then asks the kernel for a new
   * size without the identifier of the device, which kernels from 5.14 on want.
   */
  @Override
  public void grow(AttachedDevice device, long bytes) {
    BlockDevice block = BlockDevice.require(device.device());
    if (!Polling.until(GROWING, () -> block.size() >= bytes)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          device.device()
              + " has not grown with its image, as "
              + PROGRAM
              + " of some releases cannot do it: the volume grows when it is staged again");
    }
  }
}
