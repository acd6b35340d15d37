package io.cephcsi.driver.node.cephfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountPoint;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * Directories of a file system that have to be mounted, but must not be seen: those above the
 * snapshots of shallow volumes, and volumes whose folder of encrypted files is made. Each is
 * mounted in a directory that only this user can enter, for as long as it takes to bind what is
 * below; the bind keeps the file system, and its process, alive.
 */
final class PrivateMounts {
  private final Path folder;
  private final CephFsMounters mounters;

  PrivateMounts(Path folder, CephFsMounters mounters) {
    this.folder = folder.toAbsolutePath().normalize();
    this.mounters = mounters;
  }

  /** Where the directory above the snapshot of a staging path is mounted. */
  Path of(Path stagingPath) {
    byte[] name = stagingPath.toAbsolutePath().normalize().toString().getBytes(UTF_8);
    return folder.resolve(UUID.nameUUIDFromBytes(name).toString());
  }

  /**
   * Shows a part of a file system at a staging path, and nothing of what is above it.
   *
   * @param part the path below the request's root
   */
  void show(CephFsMounter mounter, CephFsMounter.Request request, String part, Path stagingPath) {
    use(
        mounter,
        request,
        stagingPath,
        parent -> {
          MountPoint.make(stagingPath, true);
          bind(parent, part, stagingPath);
        });
  }

  /**
   * Mounts a directory, and takes it away again.
   *
   * @param stagingPath tells its place from that of others
   * @param work gets the path where it is mounted
   */
  void use(
      CephFsMounter mounter, CephFsMounter.Request request, Path stagingPath, Consumer<Path> work) {
    clear(stagingPath);
    Path parent = of(stagingPath);
    try {
      var mine = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
      Files.createDirectories(folder, mine);
      MountPoint.make(parent, true);
      mounter.mount(request, parent);
      work.accept(parent);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      clear(stagingPath);
    }
  }

  /** What is shown then is looked at: a path through a link would show something else. */
  private static void bind(Path parent, String part, Path stagingPath) {
    try {
      Mounts.bind(parent.resolve(part), stagingPath);
    } catch (CommandException e) {
      if (String.valueOf(e.getMessage()).contains("does not exist")) {
        throw VolumeException.notFound("the snapshot at " + part + " does not exist any more");
      }
      throw e;
    }
    String shown = MountTable.read().at(stagingPath).map(Mount::root).orElse("");
    if (!shown.equals("/" + part)) {
      Mounts.unmountAll(stagingPath);
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, "the snapshot at " + part + " leads to " + shown);
    }
  }

  /** Takes away what is left of a call, also of one that died. */
  void clear(Path stagingPath) {
    Path parent = of(stagingPath);
    Optional<Mount> left = MountTable.read().at(parent);
    Mounts.unmountAll(parent);
    MountPoint.remove(parent);
    left.filter(mount -> MountTable.read().ofDevice(mount.device()).isEmpty())
        .flatMap(mounters::of)
        .ifPresent(mounter -> mounter.awaitEnd(parent));
  }
}
