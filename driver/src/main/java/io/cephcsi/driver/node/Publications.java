package io.cephcsi.driver.node;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountPoint;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;

/**
 * Shows staged volumes to workloads by bind mounts. A target appears with all its options at once:
 * one that is read-only is never writable, whatever dies in between. Safe for several threads.
 */
public final class Publications {
  /** Options of one mount; others are of the file system, and were given when it was mounted. */
  private static final Set<String> OF_ONE_MOUNT =
      Set.of("noatime", "nodev", "nodiratime", "noexec", "nosuid", "relatime", "ro");

  private final Path folder;
  private final TargetRecords targets;

  /** Those of the targets that were there before, which stay. */
  private final TargetRecords found;

  /**
   * @param folder where mounts get their options before they appear at a target, on this machine;
   *     it is made when it is needed
   */
  public Publications(Path folder) {
    this.folder = folder.toAbsolutePath().normalize();
    this.targets = new TargetRecords(this.folder.resolve("targets"));
    this.found = new TargetRecords(this.folder.resolve("found"));
  }

  /**
   * Binds a source to the request's target, or finds it bound.
   *
   * @param source a mounted directory, or a block device bound to a file
   * @param folder which folder of the source is shown, which is none that others may replace; empty
   *     for all of it
   * @param owner knows what is ours
   * @param operation of the call, which ends while files are given to a group if the target is to
   *     be unpublished
   * @throws VolumeException ALREADY_EXISTS when the target shows the volume in another way or
   *     something else; FAILED_PRECONDITION when the volume may have one target only and has
   *     another, or is not staged, or not for such a use, or the target has content;
   *     INVALID_ARGUMENT when the target is where a volume is staged, or in a volume; ABORTED when
   *     the operation was cancelled
   */
  public void publish(
      Path source, String folder, PublishRequest request, MountOwner owner, Operation operation) {
    if (owner.isStaging(request.target())) {
      throw VolumeException.invalid(
          "target_path " + request.target() + " is where a volume is staged");
    }
    requireOutside(request.target(), "target_path", Reason.INVALID_ARGUMENT, owner);
    MountTable table = MountTable.read();
    Mount staged =
        table
            .at(source)
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.FAILED_PRECONDITION,
                        "volume " + request.volumeId() + " is not staged at " + source));
    Mount shown = folder.isEmpty() ? staged : staged.part(folder);
    List<String> options = options(request);
    Optional<Mount> there = table.at(request.target());
    requireStagedSo(request, staged, there.filter(mount -> shown.shows(mount)).isPresent());
    if (there.isPresent() && shown.shows(there.get())) {
      if (there.get().options().contains("ro") != (options.contains("ro") || ro(staged))) {
        throw new VolumeException(
            Reason.ALREADY_EXISTS,
            request.target()
                + " shows the volume already, "
                + (there.get().options().contains("ro") ? "for reading only" : "for writing, too"));
      }
      return;
    }
    if (there.isPresent()
        && !(isOf(request.volumeId(), there.get(), owner) && owner.isDead(there.get()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          request.target() + " shows something else already: " + there.get().source());
    }
    if (there.isPresent()) {
      Mounts.forgetDead(request.target()); // of an earlier staging, whose device has died
    }
    requireAlone(request, table, shown, source);
    MountPoint.requireNoneElse(request.target());
    if (there.isEmpty()) {
      lookForOthers(request);
    }
    if (!request.refusesWrites()) {
      operation.endsFor("NodeUnpublishVolume");
      operation.phase("give the files to the group"); // pods may have other groups than the staging
      GroupOwnership.give(source, folder, request.use(), operation);
      operation.phase("mount");
    }
    targets.put(request.target(), request.volumeId());
    MountPoint.make(request.target(), !request.use().block());
    bind(source.resolve(folder), request.target(), options);
    requireShown(request, shown, folder);
  }

  /** A link in the place of the folder would have shown something else. */
  private static void requireShown(PublishRequest request, Mount shown, String folder) {
    if (!folder.isEmpty()
        && MountTable.read().at(request.target()).filter(shown::shows).isEmpty()) {
      Mounts.unmountAll(request.target());
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + request.volumeId() + ": " + folder + " is no folder of it");
    }
  }

  /** What nobody made for a volume is covered, but neither replaced nor removed. */
  private void lookForOthers(PublishRequest request) {
    Path target = request.target();
    if (targets.find(target).isPresent() || KubeletPaths.isTarget(target)) {
      return;
    }
    if (!Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
      found.remove(target);
      return;
    }
    if (Files.isDirectory(target, LinkOption.NOFOLLOW_LINKS) == request.use().block()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          target
              + " exists already, and is no empty "
              + (request.use().block() ? "file" : "directory"));
    }
    found.put(target, request.volumeId());
  }

  /**
   * Requires that a path does not lie in a volume: whoever writes to that could put links into the
   * path.
   *
   * @param field of the request, for the message
   * @throws VolumeException with the reason when it does
   */
  public void requireOutside(Path path, String field, Reason reason, MountOwner owner) {
    if (KubeletPaths.isInVolume(path)) {
      throw new VolumeException(reason, field + " " + path + " lies in a pod's volume");
    }
    MountTable table = MountTable.read();
    for (Path above = path.getParent(); above != null; above = above.getParent()) {
      if (table.at(above).filter(mount -> isVolume(mount, owner)).isPresent()) {
        throw new VolumeException(reason, field + " " + path + " lies in the volume at " + above);
      }
    }
  }

  private boolean isVolume(Mount mount, MountOwner owner) {
    Path path = mount.target();
    return KubeletPaths.isTarget(path)
        || KubeletPaths.isStaging(path)
        || (owner.isOfKind(mount)
            && (targets.find(path).isPresent() || owner.isStagedAs("", mount).isPresent()));
  }

  /**
   * Whether a mount shows a volume. Its kind must fit, and one of these: it shows the same as the
   * staging path that is written down for the volume; or it is at a target that this driver wrote
   * down for it; or nothing is written down, neither for the target nor for anything that shows the
   * same, and kubelet made the target for a CSI volume. The last are those of ceph-csi and of older
   * versions whose staging path is gone.
   */
  public boolean isOf(String volumeId, Mount mount, MountOwner owner) {
    Optional<Boolean> staged = owner.isStagedAs(volumeId, mount);
    Optional<String> shown = targets.find(mount.target());
    return owner.isOfKind(mount)
        && (staged.orElse(false)
            || shown.filter(volumeId::equals).isPresent()
            || (staged.isEmpty() && shown.isEmpty() && KubeletPaths.isTarget(mount.target())));
  }

  private static void requireStagedSo(PublishRequest request, Mount staged, boolean shown) {
    VolumeUse use = request.use();
    String how;
    if (staged.isDevice() != use.block()) {
      how = staged.isDevice() ? "as a block device" : "with a file system";
    } else if (DiskFileSystems.isKnown(staged.fsType())
        && !use.fsType().isEmpty()
        && !use.fsType().equals(staged.fsType())) {
      how = "with " + staged.fsType();
    } else if (refusesWrites(staged) && !request.refusesWrites()) {
      how = "for reading only";
    } else {
      return;
    }
    throw new VolumeException(
        shown ? Reason.ALREADY_EXISTS : Reason.FAILED_PRECONDITION,
        "volume "
            + request.volumeId()
            + " is staged "
            + how
            + ": volume_capability says otherwise");
  }

  private static boolean refusesWrites(Mount staged) {
    return staged.isDevice()
        ? BlockDevice.at(staged.target()).filter(BlockDevice::isReadOnly).isPresent()
        : ro(staged);
  }

  private static boolean ro(Mount staged) {
    return staged.options().contains("ro");
  }

  private static List<String> options(PublishRequest request) {
    List<String> options =
        new ArrayList<>(
            request.use().mountFlags().stream().filter(OF_ONE_MOUNT::contains).toList());
    if (request.refusesWrites() && !options.contains("ro")) {
      options.add("ro");
    }
    // For a device's node the kernel does not heed the option; here it tells what was wanted.
    return request.use().block() ? options.stream().filter("ro"::equals).toList() : options;
  }

  private static void requireAlone(
      PublishRequest request, MountTable table, Mount staged, Path source) {
    if (!request.use().singleTarget()) {
      return;
    }
    Path target = request.target().toAbsolutePath().normalize();
    table.all().stream()
        .filter(mount -> staged.shows(mount))
        .map(Mount::target)
        .filter(path -> !path.equals(source.toAbsolutePath().normalize()) && !path.equals(target))
        .findFirst()
        .ifPresent(
            other -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  "volume "
                      + request.volumeId()
                      + " may be published once only and is published at "
                      + other);
            });
  }

  /** A bind of a bind has the options of the first: so they are there from the start. */
  private void bind(Path source, Path target, List<String> options) {
    if (options.isEmpty()) {
      Mounts.bind(source, target);
      return;
    }
    Path ready = ready(target);
    Mounts.unmountAll(ready); // of a call that died
    MountPoint.make(ready, Files.isDirectory(source));
    try {
      Mounts.bind(source, ready);
      Mounts.rebind(ready, options);
      Mounts.bind(ready, target);
    } finally {
      Mounts.unmountAll(ready);
      MountPoint.remove(ready);
    }
  }

  private Path ready(Path target) {
    byte[] name = target.toAbsolutePath().normalize().toString().getBytes(UTF_8);
    return folder.resolve(UUID.nameUUIDFromBytes(name).toString());
  }

  /**
   * Takes a volume's target away; nothing to do where there is none. A directory or file that was
   * there before it was published stays, but where kubelet gave the path. Where nothing is mounted,
   * an empty directory or file is removed only if this driver wrote down that it made it for the
   * volume, or kubelet gave its path to a CSI volume.
   *
   * @throws VolumeException FAILED_PRECONDITION when something is there that is not the volume's,
   *     or the target lies in a volume: then nothing is unmounted or removed
   */
  public void unpublish(String volumeId, Path target, MountOwner owner) {
    requireOutside(target, "target_path", Reason.FAILED_PRECONDITION, owner);
    requireOfKind(target, owner::isOfKind);
    if (owner.isStaging(target)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, target + " is where a volume is staged: unstage it");
    }
    List<Mount> there = MountTable.read().allAt(target);
    there.stream()
        .filter(mount -> !isOf(volumeId, mount, owner))
        .findFirst()
        .ifPresent(
            mount -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  target + " does not show volume " + volumeId + " but " + mount.source());
            });
    Optional<String> shown = targets.find(target);
    if (there.isEmpty()
        && !shown.map(volumeId::equals).orElseGet(() -> KubeletPaths.isTarget(target))) {
      MountPoint.requireNoneElse(target);
      return;
    }
    Path ready = ready(target);
    Mounts.unmountAll(ready);
    MountPoint.remove(ready);
    Mounts.unmountAll(target);
    if (found.find(target).isEmpty()) {
      MountPoint.remove(target);
    }
    targets.remove(target);
    found.remove(target);
  }

  /**
   * Requires that nothing is mounted at a path but what is of the kind that shows volumes.
   *
   * @throws VolumeException FAILED_PRECONDITION when something else is
   */
  public static void requireOfKind(Path path, Predicate<Mount> kind) {
    MountTable.read().allAt(path).stream()
        .filter(mount -> !kind.test(mount))
        .findFirst()
        .ifPresent(
            mount -> {
              throw foreign(mount);
            });
  }

  public static VolumeException foreign(Mount mount) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        mount.target()
            + " has something else mounted, which stays: "
            + mount.root()
            + " of "
            + mount.source());
  }
}
