package io.cephcsi.driver.node;

import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The attachers of this node, the preferred first.
 *
 * @param all what there may be; whether this node can do it is asked when it matters
 */
public record Attachers(List<Attacher> all) {
  private static final String NO_DEVICE = "0:"; // of file systems such as tmpfs

  /** Copies the list. */
  public Attachers {
    all = List.copyOf(all);
  }

  /**
   * The attacher for a volume: the one that its StorageClass names, else, or if that is not
   * possible here and {@code tryOtherMounters} is set, the first that this node can do.
   *
   * @param context the volume's context
   * @throws VolumeException INVALID_ARGUMENT for an unknown mounter; FAILED_PRECONDITION when this
   *     node cannot do it
   */
  public Attacher choose(Map<String, String> context) {
    String mounter = context.getOrDefault("mounter", "");
    if (mounter.isEmpty()) {
      return first();
    }
    AttacherKind kind =
        AttacherKind.named(mounter)
            .orElseThrow(
                () ->
                    VolumeException.invalid(
                        "mounter \"" + mounter + "\" is none of rbd, rbd-nbd and fuse"));
    Optional<Attacher> named = find(kind);
    Optional<String> hindrance =
        named.isEmpty() ? Optional.of("this driver does not serve it") : named.get().unavailable();
    if (hindrance.isEmpty()) {
      return named.orElseThrow();
    }
    if (Booleans.isTrue("volume_context", context, "tryOtherMounters")) {
      return first();
    }
    throw new VolumeException(
        Reason.FAILED_PRECONDITION,
        "this node cannot use the mounter " + mounter + ": " + hindrance.get());
  }

  private Attacher first() {
    return all.stream()
        .filter(attacher -> attacher.unavailable().isEmpty())
        .findFirst()
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "this node cannot attach RBD images: "
                        + all.stream()
                            .map(a -> a.kind().mounter() + ": " + a.unavailable().orElse(""))
                            .collect(Collectors.joining("; "))));
  }

  /** The attacher of a kind, for what it attached before. */
  public Attacher require(AttacherKind kind) {
    return find(kind)
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "the volume was attached by " + kind.mounter() + ", which is not served"));
  }

  private Optional<Attacher> find(AttacherKind kind) {
    return all.stream().filter(attacher -> attacher.kind() == kind).findFirst();
  }

  /** Whether a device is one of ours that nothing serves any more. */
  public boolean isDead(Path device) {
    return all.stream().anyMatch(attacher -> attacher.isDead(device));
  }

  /**
   * Whether a mount may show a volume, dead or alive: its device is one of an attacher's, or staged
   * by this driver or ceph-csi, or lies on one that is, or has nothing behind it any more.
   */
  boolean mayShow(Mount mount) {
    Path device = mount.blockDevice();
    MountTable table = MountTable.read();
    if (!mount.isDevice() && mount.device().startsWith(NO_DEVICE)) {
      return false; // whatever its source says
    }
    if (mount.isGone()) {
      return device.getName(1).toString().matches("(loop|nbd|rbd)[0-9]+"); // whose it was then
    }
    return byDevice(device).isPresent()
        || isDead(device)
        || isUnserved(device)
        || BlockDevice.usesOf(device, table).stream()
            .anyMatch(use -> StagedImage.isBeside(use.target()))
        || all.stream()
            .flatMap(attacher -> attacher.list().stream())
            .anyMatch(attached -> BlockDevice.usesOf(attached.device(), table).contains(mount));
  }

  /**
   * Requires that nothing is mounted at a place but what was staged there: that is written down, or
   * the place is called after the volume of the image, and drivers alone use such names.
   *
   * @param known what is written down
   * @throws VolumeException FAILED_PRECONDITION when something else is
   */
  void requireStaged(Optional<StagedImage> known, Path place) {
    Publications.requireOfKind(place, this::mayShow);
    String id = String.valueOf(place.getFileName());
    Optional<Mount> there = MountTable.read().at(place).filter(mount -> known.isEmpty());
    boolean foreign =
        VolumeId.parse(id).isEmpty()
            || there
                .flatMap(mount -> byDevice(mount.blockDevice()))
                .filter(device -> !device.image().isOfVolume(id))
                .isPresent();
    if (there.isPresent() && foreign) {
      throw Publications.foreign(there.get());
    }
  }

  /** Whether a device of a kind that attachers make is empty or gone. */
  private static boolean isUnserved(Path device) {
    String name = String.valueOf(device.getFileName());
    Path block = Path.of("/sys/block", name);
    return device.startsWith("/dev")
        && ((name.matches("loop[0-9]+") && !Files.exists(block.resolve("loop/backing_file")))
            || (name.matches("nbd[0-9]+") && !Files.exists(block.resolve("pid")))
            || (name.matches("rbd[0-9]+") && !Files.exists(block)));
  }

  /** Whose device this is; empty when it is none of ours. */
  public Optional<AttachedDevice> byDevice(Path device) {
    return all.stream().map(attacher -> attacher.at(device)).flatMap(Optional::stream).findFirst();
  }
}
