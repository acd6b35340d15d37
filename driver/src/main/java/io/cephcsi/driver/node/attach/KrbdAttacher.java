package io.cephcsi.driver.node.attach;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.KernelModule;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Polling;
import io.cephcsi.driver.node.machine.Sysfs;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Images as devices of the kernel's rbd module, by {@code rbd device map}. What is mapped, /sys
 * tells, so that it is found whoever mapped it. The kernel itself refuses to unmap a device that
 * somebody has open.
 */
public final class KrbdAttacher implements Attacher {
  /** What {@code rbd} ends with for a device that is in use (EBUSY). */
  private static final int BUSY = 16;

  /**
   * The grain in which the device discards: whole objects, as the kernel takes down a larger value.
   * With its default of 64 KiB it cuts what a file system discards into pieces that begin and end
   * within objects, which empties objects but does not remove them.
   */
  private static final String WHOLE_OBJECTS = "alloc_size=33554432";

  /** {@code RBD_FEATURES_INCOMPATIBLE}: those that also readers must know. */
  private static final Set<ImageFeature> OF_READERS =
      EnumSet.of(
          ImageFeature.LAYERING,
          ImageFeature.STRIPINGV2,
          ImageFeature.DATA_POOL,
          ImageFeature.DIRTY_CACHE);

  private static final Pattern MASK = Pattern.compile("0x[0-9a-fA-F]{1,16}");
  private static final Path BUS = Path.of("/sys/bus/rbd");
  private static final String NAME = "rbd";
  private static final Pattern DEVICE = Pattern.compile(NAME + "\\d+");
  private static final Duration GROWING = Duration.ofSeconds(30);

  private final Path bus;
  private final CrushLocation location;

  /**
   * Those of this machine.
   *
   * @param location where it is
   */
  public KrbdAttacher(CrushLocation location) {
    this(BUS, location);
  }

  /**
   * @param bus instead of /sys/bus/rbd
   */
  KrbdAttacher(Path bus, CrushLocation location) {
    this.bus = bus;
    this.location = location;
  }

  @Override
  public AttacherKind kind() {
    return AttacherKind.KRBD;
  }

  @Override
  public Optional<String> unavailable() {
    return KernelModule.missing(NAME).or(() -> KernelModule.load(NAME, bus));
  }

  /** As the kernel and the cluster decide: who only reads need not know all features. */
  @Override
  public Optional<String> hindrance(Supplier<Set<ImageFeature>> features, boolean readOnly) {
    Optional<Long> known = knownFeatures();
    if (known.isEmpty()) {
      return Optional.empty();
    }
    List<String> unknown =
        features.get().stream()
            .filter(feature -> !readOnly || OF_READERS.contains(feature))
            .filter(feature -> (known.get() & feature.mask()) == 0)
            .map(ImageFeature::cephName)
            .toList();
    return unknown.isEmpty()
        ? Optional.empty()
        : Optional.of("the kernel does not know features of the image: " + unknown);
  }

  /** Empty before Linux 4.11, which does not tell. */
  private Optional<Long> knownFeatures() {
    return Sysfs.text(bus.resolve("supported_features"))
        .filter(text -> MASK.matcher(text).matches())
        .map(text -> HexFormat.fromHexDigitsToLong(text.substring(2)));
  }

  @Override
  public AttachedDevice attach(AttachRequest request) {
    Optional<AttachedDevice> present = find(request);
    if (present.isPresent()) {
      if (BlockDevice.require(present.get().device()).isReadOnly() == request.readOnly()) {
        return alone(present.get());
      }
      detach(request.image(), "");
    }
    String near = location.options(request.cluster(), request.mapOptions());
    Command map =
        RbdProgram.as(request)
            .with("device", "map", "--options")
            .with(Argument.of("mapOptions", options(request.mapOptions(), near)))
            .input(request.credentials().key());
    if (request.readOnly()) {
      map = map.with("--read-only");
    }
    map.with("--").with(request.image().argument()).run();
    AttachedDevice device =
        find(request)
            .orElseThrow(
                () ->
                    new CommandException(
                        "rbd mapped " + request.image() + ", but the kernel has no device of it",
                        CommandException.NO_EXIT_CODE));
    return alone(device);
  }

  /** The kernel gives the numbers of devices that are gone to others, whoever has those bound. */
  private static AttachedDevice alone(AttachedDevice device) {
    BlockDevice.require(device.device()).requireNoBindOfEarlier(MountTable.read());
    return device;
  }

  private Optional<AttachedDevice> find(AttachRequest request) {
    return AttachedDevice.chosen(
        devices(request.image()).stream()
            .filter(device -> isOf(device, request).orElse(true))
            .toList());
  }

  @Override
  public Optional<Boolean> isOf(AttachedDevice device, AttachRequest request) {
    return fsid(device).map(request.fsid()::equals);
  }

  private Optional<String> fsid(AttachedDevice device) {
    String name = String.valueOf(device.device().getFileName());
    return Sysfs.text(
        bus.resolve("devices").resolve(name.substring(NAME.length())).resolve("cluster_fsid"));
  }

  /** There may be no udev to wait for; the device's file is there when the mapping is. */
  static String options(String given, String near) {
    StringBuilder options = new StringBuilder("noudev");
    if (!given.contains("alloc_size=")) {
      options.append(',').append(WHOLE_OBJECTS);
    }
    for (String more : List.of(near, given)) {
      if (!more.isEmpty()) {
        options.append(',').append(more);
      }
    }
    return options.toString();
  }

  @Override
  public List<AttachedDevice> list() {
    return Sysfs.in(bus.resolve("devices"), "*").stream()
        .flatMap(id -> attached(id).stream())
        .toList();
  }

  /** A device of an image's head; snapshots are not ours. */
  private static Optional<AttachedDevice> attached(Path id) {
    Optional<String> pool = Sysfs.text(id.resolve("pool"));
    Optional<String> image = Sysfs.text(id.resolve("name"));
    String snapshot = Sysfs.text(id.resolve("current_snap")).orElse("-");
    if (pool.isEmpty() || image.isEmpty() || !snapshot.equals("-")) {
      return Optional.empty();
    }
    String namespace = Sysfs.text(id.resolve("pool_ns")).orElse("");
    return Optional.of(
        new AttachedDevice(
            AttacherKind.KRBD,
            new ImageSpec(pool.get(), namespace, image.get()),
            Path.of("/dev/" + NAME + id.getFileName()),
            true));
  }

  /** Also one that was unmapped by force while it was mounted: the kernel shows no image of it. */
  @Override
  public boolean isDead(Path device) {
    String name = String.valueOf(device.getFileName());
    Path devices = bus.resolve("devices");
    return DEVICE.matcher(name).matches()
        && Files.exists(devices)
        && !Files.exists(devices.resolve(name.substring(NAME.length())));
  }

  @Override
  public void detach(ImageSpec image, String unmapOptions) {
    List<AttachedDevice> all = devices(image);
    if (all.stream().map(this::fsid).distinct().count() > 1) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "this node has " + image + " of two clusters, and cannot tell which to unmap: " + all);
    }
    all.forEach(device -> BlockDevice.require(device.device()).requireUnused(MountTable.read()));
    all.forEach(device -> unmap(device, unmapOptions));
  }

  private void unmap(AttachedDevice device, String unmapOptions) {
    Command.Result result =
        RbdProgram.local()
            .with("device", "unmap", "--options")
            .with(
                Argument.of(
                    "unmapOptions", unmapOptions.isEmpty() ? "noudev" : "noudev," + unmapOptions))
            .with("--")
            .with(Argument.path(device.device()))
            .tryRun();
    if (result.exitCode() == 0 || !list().contains(device)) {
      return;
    }
    String said = device.device() + " of " + device.image() + ": " + result.said();
    if (result.exitCode() == BUSY) {
      throw new VolumeException(Reason.FAILED_PRECONDITION, said);
    }
    throw new CommandException("rbd device unmap " + said, result.exitCode());
  }

  @Override
  public void grow(AttachedDevice device, long bytes) {
    BlockDevice block = BlockDevice.require(device.device());
    if (block.size() >= bytes) {
      return;
    }
    Path id = bus.resolve("devices").resolve(block.name().substring(NAME.length()));
    try {
      Files.writeString(id.resolve("refresh"), "1");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (!Polling.until(GROWING, () -> block.size() >= bytes)) {
      throw new VolumeException(
          Reason.UNAVAILABLE, device.device() + " does not show the new size of its image yet");
    }
  }
}
