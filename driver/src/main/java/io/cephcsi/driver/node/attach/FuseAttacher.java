package io.cephcsi.driver.node.attach;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.LoopDevices;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Polling;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * RBD images as loop devices over a FUSE export of qemu-storage-daemon: needs no module of the
 * kernel beyond fuse and loop. Each image has a process and a directory of its own.
 */
public final class FuseAttacher implements Attacher {
  private static final Path FUSE = Path.of("/dev/fuse");
  private static final Path LOOP_CONTROL = Path.of("/dev/loop-control");
  private static final String SPEC = "spec";
  private static final int SPEC_LINES = 6;
  private static final String READ_ONLY = "ro";
  private static final Set<PosixFilePermission> MINE = PosixFilePermissions.fromString("rw-------");
  private static final int KEY_BYTES = 12; // directories' paths stay short: sockets allow 107 bytes
  private static final Duration STARTING = Duration.ofSeconds(5);
  private static final Duration NEW_SIZE = Duration.ofSeconds(10);

  private final Path folder;
  private final ServerCgroup servers;

  /**
   * @param folder for the exports' directories, on this machine; it is made when it is needed
   * @param servers where the processes run
   */
  public FuseAttacher(Path folder, ServerCgroup servers) {
    this.folder = folder.toAbsolutePath().normalize();
    this.servers = servers;
  }

  @Override
  public AttacherKind kind() {
    return AttacherKind.FUSE;
  }

  @Override
  public Optional<String> unavailable() {
    if (Command.find(StorageDaemon.PROGRAM).isEmpty()) {
      return Optional.of(StorageDaemon.PROGRAM + " is not installed");
    }
    if (Command.find("losetup").isEmpty()) {
      return Optional.of("losetup is not installed");
    }
    return Files.exists(FUSE) && Files.exists(LOOP_CONTROL)
        ? Optional.empty()
        : Optional.of(FUSE + " and " + LOOP_CONTROL + " are not both there");
  }

  @Override
  public AttachedDevice attach(AttachRequest request) {
    StorageDaemon daemon = daemon(request.image());
    if (isServing(daemon)) {
      if (!isOf(daemon, request).orElse(true)) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            request.image() + " of another cluster is being attached on this node");
      }
      LoopDevices.awaitReleased(daemon.file());
    } else {
      clean(daemon);
      makeFolder(daemon, request);
      daemon.start(request, List.of(request.mapOptions().split(",", -1)), servers);
    }
    Path device =
        LoopDevices.of(daemon.file()).stream()
            .findFirst()
            .orElseGet(() -> LoopDevices.attach(daemon.file(), request.readOnly()));
    return new AttachedDevice(AttacherKind.FUSE, request.image(), device, true);
  }

  /** One that is just starting, for a call that died, is waited for. */
  private static boolean isServing(StorageDaemon daemon) {
    return daemon.process().isPresent()
        && (!LoopDevices.of(daemon.file()).isEmpty() || Polling.until(STARTING, daemon::serves));
  }

  private StorageDaemon daemon(ImageSpec image) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(image.toString().getBytes(UTF_8));
      return new StorageDaemon(
          folder.resolve(HexFormat.of().formatHex(Arrays.copyOf(digest, KEY_BYTES))));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }

  private static void makeFolder(StorageDaemon daemon, AttachRequest request) {
    ImageSpec image = request.image();
    try {
      Files.createDirectories(daemon.folder());
      Path file = daemon.folder().resolve(SPEC);
      Files.deleteIfExists(file);
      Files.createFile(file, PosixFilePermissions.asFileAttribute(MINE));
      Files.write(
          file,
          List.of(
              image.pool(),
              image.namespace(),
              image.image(),
              request.fsid(),
              request.credentials().userId(),
              request.readOnly() ? READ_ONLY : "rw"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Removes an export that does not serve. Its devices fail all input and output since then, so it
   * does no harm that somebody has one mounted: it goes when he lets go of it.
   *
   * @throws VolumeException FAILED_PRECONDITION while one is bound as a device
   */
  private static void clean(StorageDaemon daemon) {
    List<Path> devices = LoopDevices.of(daemon.file());
    MountTable table = MountTable.read();
    devices.forEach(device -> LoopDevices.requireNotBound(device, table));
    daemon.kill();
    devices.forEach(LoopDevices::forgetDead);
    daemon.removeFiles();
  }

  @Override
  public List<AttachedDevice> list() {
    List<AttachedDevice> devices = new ArrayList<>();
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(folder)) {
      for (Path each : folders) {
        image(each).flatMap(image -> find(image, new StorageDaemon(each))).ifPresent(devices::add);
      }
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return devices;
  }

  @Override
  public Optional<AttachedDevice> find(ImageSpec image) {
    return find(image, daemon(image));
  }

  /** Asks for one process only, where {@link #list} asks for each. */
  @Override
  public Optional<AttachedDevice> at(Path device) {
    return LoopDevices.fileOf(device, folder)
        .map(Path::getParent)
        .flatMap(
            each ->
                image(each)
                    .flatMap(image -> find(image, new StorageDaemon(each)))
                    .filter(attached -> attached.device().equals(device)));
  }

  /** Also one that goes when its last user lets go of it: it is no image's device any more. */
  @Override
  public boolean isDead(Path device) {
    return LoopDevices.isLost(device)
        || (at(device).filter(AttachedDevice::alive).isEmpty()
            && LoopDevices.fileOf(device, folder).isPresent());
  }

  private static Optional<AttachedDevice> find(ImageSpec image, StorageDaemon daemon) {
    return LoopDevices.of(daemon.file()).stream()
        .findFirst()
        .map(
            device ->
                new AttachedDevice(AttacherKind.FUSE, image, device, daemon.process().isPresent()));
  }

  private static Optional<ImageSpec> image(Path folder) {
    List<String> lines = spec(folder);
    return lines.size() >= 3
        ? Optional.of(new ImageSpec(lines.get(0), lines.get(1), lines.get(2)))
        : Optional.empty();
  }

  /**
   * Pool, namespace, image, and, unless an older version wrote it, the cluster, the user, and
   * whether it is only read.
   */
  private static List<String> spec(Path folder) {
    try {
      return Files.readAllLines(folder.resolve(SPEC));
    } catch (IOException e) {
      return List.of(); // it is being made, or removed
    }
  }

  @Override
  public Optional<Boolean> isOf(AttachedDevice device, AttachRequest request) {
    return isOf(daemon(device.image()), request);
  }

  private static Optional<Boolean> isOf(StorageDaemon daemon, AttachRequest request) {
    return spec(daemon.folder()).stream().skip(3).findFirst().map(request.fsid()::equals);
  }

  @Override
  public void detach(ImageSpec image, String unmapOptions) {
    StorageDaemon daemon = daemon(image);
    MountTable table = MountTable.read();
    boolean alive = daemon.process().isPresent();
    LoopDevices.of(daemon.file()).forEach(device -> LoopDevices.detach(device, table));
    if (alive) {
      LoopDevices.awaitReleased(daemon.file());
    }
    daemon.stop();
    servers.removeEmpty();
    daemon.removeFiles();
    try {
      Files.deleteIfExists(daemon.folder().resolve(SPEC));
      Files.deleteIfExists(daemon.folder());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void grow(AttachedDevice device, long bytes) {
    if (BlockDevice.require(device.device()).size() >= bytes) {
      return;
    }
    StorageDaemon daemon = daemon(device.image());
    List<String> spec = spec(daemon.folder());
    if (spec.size() < SPEC_LINES) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          StorageDaemon.PROGRAM
              + " of "
              + daemon.file()
              + " was started by an older version of this driver: the volume grows when it is"
              + " staged again");
    }
    daemon.refresh(device.image(), spec.get(4), spec.get(5).equals(READ_ONLY));
    // The kernel remembers the size of a FUSE file for a second.
    boolean seen =
        Polling.until(
            NEW_SIZE,
            () -> {
              LoopDevices.refreshSize(device.device());
              return sizeOf(daemon.file()) >= bytes
                  && BlockDevice.require(device.device()).size() >= bytes;
            });
    if (!seen) {
      throw new VolumeException(
          Reason.UNAVAILABLE, device.device() + " does not show the new size of its image yet");
    }
  }

  private static long sizeOf(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
