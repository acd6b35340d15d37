package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.node.machine.DiskFileSystems.EXT4;
import static io.cephcsi.driver.node.machine.DiskFileSystems.XFS;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.VolumeUse;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.DeviceContent;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts a file system on a device that is certainly blank, checks one that is there, and mounts it.
 *
 * <p>Before mkfs begins, what proves the image blank is noted in the image's metadata, and the note
 * is removed before the first mount: so a call that finds the note and a half-made file system
 * knows that nothing else was ever there.
 */
final class FileSystemSetup {
  private static final Logger LOG = LoggerFactory.getLogger(FileSystemSetup.class);
  private static final Duration MAKING = Duration.ofMinutes(10);
  private static final Duration CHECKING = Duration.ofMinutes(60);
  private static final Integer[] CHECKED = {0, 1, 2}; // e2fsck: clean, repaired, repaired

  private final OpenImage volume;
  private final Path device;
  private final long header;
  private final boolean encrypts;
  private final VolumeUse use;
  private final Operation operation;

  /**
   * @param shown the device, which may be a decrypted one
   * @param encrypts whether the file system must be ext4 that can encrypt files
   */
  FileSystemSetup(
      OpenImage volume,
      LuksSetup.Shown shown,
      boolean encrypts,
      VolumeUse use,
      Operation operation) {
    this.volume = volume;
    this.device = shown.path();
    this.header = shown.header();
    this.encrypts = encrypts;
    this.use = use;
    this.operation = operation;
  }

  /**
   * Makes the file system where there is none, checks it, and mounts it at a directory.
   *
   * @param mkfsOptions of the StorageClass; empty for the usual ones
   */
  void mountAt(Path mountPath, String mkfsOptions) {
    operation.phase("look at the content");
    String kind = DeviceContent.of(device);
    if (kind.equals(EXT4) && DeviceContent.hasJournalElsewhere(device)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + volume.volumeId() + " holds ext4 whose journal is on another device");
    }
    if (use.readOnly()) {
      requireUsable(kind);
      mountReadOnly(kind, mountPath);
      return;
    }
    kind = completed(kind, mkfsOptions);
    requireUsable(kind);
    if (kind.equals(EXT4) && !isMounted()) {
      operation.phase("check");
      Command.of("e2fsck", "-p").with(Argument.path(device)).within(CHECKING).exitsWith(CHECKED);
      growUnmounted();
    }
    operation.phase("mount");
    mount(kind, mountPath, options(kind));
    if (kind.equals(XFS) && !use.mountedReadOnly()) {
      grow(kind, device, mountPath);
    }
  }

  /** Such as at a target path, when only its staging was unmounted. */
  private boolean isMounted() {
    return !BlockDevice.require(device).uses(MountTable.read()).isEmpty();
  }

  /**
   * What the device holds after a format that was begun, now or by a call that died, has ended. The
   * note is written past the lock of the image: whoever serves the device has that, and may keep it
   * for himself, or be just about to take it.
   */
  private String completed(String kind, String mkfsOptions) {
    RbdPool pool = volume.pool();
    Optional<String> id = ImageId.find(pool, volume.name());
    if (id.isEmpty() && !kind.isEmpty()) {
      return kind; // an image of format 1 has no id, and no note
    }
    String imageId = id.orElseGet(volume::imageId);
    Optional<String> begun = FormatNote.find(volume, imageId, EXT4, XFS);
    if (begun.isEmpty() && !kind.isEmpty()) {
      return kind;
    }
    if (kind.isEmpty()) {
      try (RbdImage image = volume.openReadOnly()) {
        requireNone(
            begun.isEmpty()
                ? BlankProof.objection(image, header)
                : BlankProof.objectionToHalf(image, header));
      }
    }
    String wanted = encrypts ? EXT4 : use.fsType().isEmpty() ? begun.orElse(EXT4) : use.fsType();
    if (kind.isEmpty() || isUnfinished(kind)) {
      Command make = making(wanted, mkfsOptions, !kind.isEmpty());
      FormatNote.write(volume, imageId, wanted);
      operation.phase("format");
      LOG.info(
          "volume {}: formatting {} with {}: the image is blank",
          volume.volumeId(),
          device,
          wanted);
      make.run();
      kind = wanted;
    }
    FormatNote.remove(volume, imageId);
    return kind;
  }

  private void requireNone(Optional<String> objection) {
    if (objection.isPresent()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volume.volumeId()
              + " is not formatted, as it may hold data: "
              + objection.get());
    }
  }

  /**
   * Whether a file system lacks a part, as mkfs was cut off. The note alone does not say so: a call
   * may have died between the end of mkfs and the note's removal, and another driver, which does
   * not know the note, may have mounted the volume since. XFS cannot be mounted before it is
   * complete; ext4 says whether it ever was.
   */
  private boolean isUnfinished(String kind) {
    return switch (kind) {
      case XFS -> DeviceContent.isUnfinishedXfs(device);
      case EXT4 ->
          !DeviceContent.wasMountedExt(device)
              && Command.of("e2fsck", "-f", "-n")
                      .with(Argument.path(device))
                      .within(CHECKING)
                      .tryRun()
                      .exitCode()
                  != 0;
      default -> false; // not ours: it is refused later
    };
  }

  /**
   * The program that makes the file system, which has found, without writing, that it can.
   *
   * @throws VolumeException FAILED_PRECONDITION when it cannot, as the options or the size say
   */
  private Command making(String kind, String mkfsOptions, boolean overUnfinished) {
    List<String> options = new ArrayList<>(MkfsOptions.of(kind, mkfsOptions));
    if (mkfsOptions.isBlank()) {
      options.addAll(MkfsOptions.usual(kind, BlockDevice.require(device).size()));
    }
    if (encrypts) {
      options = MkfsOptions.withFeature(options, "encrypt");
    }
    if (overUnfinished) {
      options.add(kind.equals(XFS) ? "-f" : "-F");
    }
    boolean xfs = kind.equals(XFS);
    Command make =
        (xfs ? Command.of("mkfs.xfs") : Command.of("mkfs.ext4"))
            .with(options.stream().map(one -> Argument.letter("mkfsOptions", one)).toList())
            .within(MAKING);
    Command.Result dry =
        (xfs ? make.with("-N") : make.with("-n")).with(Argument.path(device)).tryRun();
    if (dry.exitCode() != 0) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volume.volumeId()
              + " cannot be formatted with "
              + kind
              + ": "
              + dry.said().split("; Usage: ", 2)[0]);
    }
    return make.with(Argument.path(device));
  }

  private void requireUsable(String kind) {
    String problem;
    if (kind.isEmpty()) {
      problem = "holds no file system, and cannot be formatted for reading only";
    } else if (!DiskFileSystems.isKnown(kind)) {
      problem = "holds " + kind + ", which is not mounted and never overwritten";
    } else if (encrypts && !kind.equals(EXT4)) {
      problem = "holds " + kind + ", which cannot encrypt files";
    } else if (!use.fsType().isEmpty() && !use.fsType().equals(kind)) {
      problem = "holds " + kind + ", not " + use.fsType() + " as volume_capability says";
    } else {
      return;
    }
    throw new VolumeException(
        Reason.FAILED_PRECONDITION, "volume " + volume.volumeId() + " " + problem);
  }

  private List<String> options(String kind) {
    List<String> options = new ArrayList<>(use.mountFlags());
    if (kind.equals(XFS) && !options.contains("nouuid")) {
      options.add("nouuid"); // a clone has the UUID of its source
    }
    if (kind.equals(EXT4) && options.stream().noneMatch(option -> option.startsWith("errors="))) {
      options.add("errors=remount-ro"); // its superblock may say that the kernel is to panic
    }
    return options;
  }

  /** A journal that would have to be replayed first, as in a clone of a snapshot, is left alone. */
  private void mountReadOnly(String kind, Path mountPath) {
    operation.phase("mount");
    List<String> options = new ArrayList<>(options(kind));
    options.add("ro");
    try {
      Mounts.mount(kind, device.toString(), mountPath, options);
    } catch (CommandException e) {
      LOG.info(
          "volume {}: {}; mounting it without replaying the journal",
          volume.volumeId(),
          e.getMessage());
      options.add("norecovery");
      mount(kind, mountPath, options);
    }
  }

  private void mount(String kind, Path mountPath, List<String> options) {
    try {
      Mounts.mount(kind, device.toString(), mountPath, options);
    } catch (CommandException e) {
      throw MountFlags.explained(e);
    }
  }

  /** An image that has grown while it was not mounted. */
  private void growUnmounted() {
    long room = BlockDevice.require(device).size() - DeviceContent.extBytes(device);
    if (room >= 1 << 20) { // less may be what the file system cannot use
      operation.phase("grow");
      Command.of("e2fsck", "-f", "-p")
          .with(Argument.path(device))
          .within(CHECKING)
          .exitsWith(CHECKED);
      Command.of("resize2fs").with(Argument.path(device)).within(CHECKING).run();
    }
  }

  /** Grows a mounted file system to the size of its device; nothing to do when it fills it. */
  static void grow(String kind, Path device, Path mountPath) {
    switch (kind) {
      case EXT4 -> growMountedExt4(device);
      case XFS ->
          Command.of("xfs_growfs", "-d").with(Argument.path(mountPath)).within(CHECKING).run();
      default ->
          throw new VolumeException(
              Reason.FAILED_PRECONDITION, mountPath + " holds " + kind + ", which cannot grow");
    }
  }

  private static void growMountedExt4(Path device) {
    try {
      Command.of("resize2fs").with(Argument.path(device)).within(CHECKING).run();
    } catch (CommandException e) {
      if (String.valueOf(e.getMessage()).contains("Permission denied to resize")) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "a mounted ext4 grows only if the driver has CAP_SYS_RESOURCE, which it has not;"
                + " the file system grows when the volume is staged next",
            e);
      }
      throw e;
    }
  }
}
