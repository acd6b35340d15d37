package io.cephcsi.driver.node.attach;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The attachers of this node, the preferred first.
 *
 * @param all what there may be; whether this node can do it is asked when it matters
 */
public record Attachers(List<Attacher> all) {
  /** Copies the list. */
  public Attachers {
    all = List.copyOf(all);
  }

  /**
   * The attacher for a volume: the one that its StorageClass names, else, or if that is not
   * possible here and {@code tryOtherMounters} is set, the first that this node can do.
   *
   * @param context the volume's context
   * @param features of its image; asked for only if they count
   * @param readOnly whether the device is to refuse writes
   * @throws VolumeException INVALID_ARGUMENT for an unknown mounter; FAILED_PRECONDITION when this
   *     node cannot do it
   */
  public Attacher choose(
      Map<String, String> context, Supplier<Set<ImageFeature>> features, boolean readOnly) {
    Function<Attacher, Optional<String>> hindrance =
        attacher -> attacher.unavailable().or(() -> attacher.hindrance(features, readOnly));
    String mounter = context.getOrDefault("mounter", "");
    if (mounter.isEmpty()) {
      return first(hindrance);
    }
    AttacherKind kind =
        AttacherKind.named(mounter)
            .orElseThrow(
                () ->
                    VolumeException.invalid(
                        "mounter \"" + mounter + "\" is none of rbd, rbd-nbd and fuse"));
    Optional<Attacher> named = find(kind);
    Optional<String> why =
        named.isEmpty()
            ? Optional.of("this driver does not serve it")
            : hindrance.apply(named.get());
    if (why.isEmpty()) {
      return named.orElseThrow();
    }
    if (Booleans.isTrue("volume_context", context, "tryOtherMounters")) {
      return first(hindrance);
    }
    throw new VolumeException(
        Reason.FAILED_PRECONDITION,
        "this node cannot use the mounter " + mounter + ": " + why.get());
  }

  private Attacher first(Function<Attacher, Optional<String>> hindrance) {
    return all.stream()
        .filter(attacher -> hindrance.apply(attacher).isEmpty())
        .findFirst()
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "this node cannot attach the RBD image: "
                        + all.stream()
                            .map(a -> a.kind().mounter() + ": " + hindrance.apply(a).orElse(""))
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
    Path below = LuksDevices.below(device).orElse(device);
    return all.stream().anyMatch(attacher -> attacher.isDead(below));
  }

  /** Whose device this is, or lies on decrypted; empty when it is none of ours. */
  public Optional<AttachedDevice> byDevice(Path device) {
    Path below = LuksDevices.below(device).orElse(device);
    return all.stream().map(attacher -> attacher.at(below)).flatMap(Optional::stream).findFirst();
  }
}
