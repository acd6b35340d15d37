package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.DiscardPipeline;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.ContentNode;
import io.cephcsi.driver.reclaim.fs.FileSystemKind;
import io.cephcsi.driver.reclaim.fs.FileSystems;
import io.cephcsi.driver.reclaim.fs.Inspection;
import io.cephcsi.driver.reclaim.fs.InspectionMemory;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import io.cephcsi.driver.reclaim.fs.Survey;
import io.cephcsi.driver.reclaim.luks.LuksRefusal;
import io.cephcsi.driver.reclaim.luks.LuksUnlock;
import io.cephcsi.driver.reclaim.luks.LuksVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * Discards the ranges that the file system in an image does not use. The caller has held the
 * image's managed lock since before {@link #plan}, and has checked after it took the lock that no
 * other client has the image open. Only then the free ranges stay free until they are discarded.
 */
final class OfflineTrim {
  static final int DEFAULT_CONCURRENCY = 16;

  private OfflineTrim() {}

  /**
   * What may be discarded, or why nothing may be.
   *
   * @param encrypted whether the image holds ciphertext
   * @param memory what the plan takes
   */
  record Planned(
      TrimReport report, Optional<TrimPlan> plan, boolean encrypted, InspectionMemory memory)
      implements AutoCloseable {
    /** Of an image that was not looked at. */
    static Planned notAsked() {
      return nothing(
          TrimReport.skipped("method", "only sparsify was asked for", ""),
          false,
          InspectionMemory.of(() -> false));
    }

    private static Planned nothing(TrimReport report, boolean encrypted, InspectionMemory memory) {
      return new Planned(report, Optional.empty(), encrypted, memory);
    }

    /** Gives back the memory of the plan, which is not used any more. */
    @Override
    public void close() {
      memory.close();
    }

    /**
     * What is to be done to an image. Ciphertext has no zeroes to find; and sparsify has librbd
     * mark all objects as changed, which the daemons then copy to the other site. At most one round
     * trip.
     */
    ReclaimMethod method(ReclaimPlan asked, RbdImage image) {
      ReclaimMethod method = asked.method();
      boolean sparing =
          encrypted || (method == ReclaimMethod.BOTH && image.mirroring().isPresent());
      return sparing ? method.withoutSparsify() : method;
    }
  }

  /**
   * Looks for a file system and computes what it does not use; changes nothing.
   *
   * @param granularity the shortest range that is discarded inside an object
   * @param unlock by which an encrypted image is read; empty to leave it alone
   * @param stop whether to end early, with a plan of nothing; asked before each read and each piece
   *     of a walk over the objects, must not block
   * @return for the caller to close
   * @throws VolumeException FAILED_PRECONDITION when the passphrase does not open it
   */
  static Planned plan(
      RbdImage image, long granularity, Optional<LuksUnlock> unlock, BooleanSupplier stop) {
    InspectionMemory memory = InspectionMemory.of(stop);
    try {
      Planned planned = plan(image, granularity, unlock, stop, memory);
      memory = InspectionMemory.of(() -> false); // the other one belongs to the plan now
      return planned;
    } catch (InspectionStopped e) {
      return Planned.nothing(
          TrimReport.skipped("gave_way", "the reclaim was stopped before it knew what is free", ""),
          false,
          InspectionMemory.of(() -> false));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      memory.close();
    }
  }

  private static Planned plan(
      RbdImage image,
      long granularity,
      Optional<LuksUnlock> unlock,
      BooleanSupplier stop,
      InspectionMemory memory)
      throws IOException {
    BlockReader reader = new ImageReader(image, stop);
    Survey survey = FileSystems.survey(reader, memory);
    boolean luks = survey.content().kind() == FileSystemKind.LUKS;
    if (!luks || unlock.isEmpty()) {
      boolean encrypted = survey.inspection().kind() == FileSystemKind.LUKS;
      return plan(image, granularity, survey, encrypted, clean -> clean::freeRanges, stop, memory);
    }
    try {
      LuksVolume decrypted = open(reader, unlock.get(), stop);
      Survey inside = FileSystems.survey(decrypted, memory);
      return plan(
          image,
          granularity,
          new Survey(
              inside.inspection(),
              ContentNode.encrypted(image.size(), inside.content(), decrypted.dataOffset())),
          true,
          clean -> visitor -> clean.freeRanges(decrypted.onDevice(visitor)),
          stop,
          memory);
    } catch (LuksRefusal e) {
      return Planned.nothing(
          TrimReport.skipped(e.reason(), e.detail(), FileSystemKind.LUKS.label()), true, memory);
    }
  }

  private static LuksVolume open(BlockReader reader, LuksUnlock unlock, BooleanSupplier stop)
      throws IOException, LuksRefusal {
    return unlock
        .open(reader, stop)
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "reclaim.decrypt: the passphrase in the KMS does not open the image; nothing"
                        + " was changed"));
  }

  /**
   * Makes the key of an encrypted image, for a plan that comes after: that takes long, and is done
   * before the image is locked. What is wrong with the image, the plan tells.
   *
   * @param stop whether to end early; must not block
   */
  static void prepare(RbdImage image, LuksUnlock unlock, BooleanSupplier stop) {
    try {
      unlock.open(new ImageReader(image, stop), stop);
    } catch (IOException | LuksRefusal | InspectionStopped | CephException e) {
      return; // it is no LUKS that can be read, or not any more
    }
  }

  private static Planned plan(
      RbdImage image,
      long granularity,
      Survey survey,
      boolean encrypted,
      Function<Inspection.Clean, TrimPlan.FreeSpace> free,
      BooleanSupplier stop,
      InspectionMemory memory) {
    Inspection inspection = survey.inspection();
    String where = encrypted && inspection.kind() != FileSystemKind.LUKS ? " in LUKS" : "";
    if (inspection instanceof Inspection.Refused refused) {
      return Planned.nothing(
          TrimReport.skipped(refused.reason(), refused.detail() + where, refused.kind().label())
              .of(survey.content()),
          encrypted,
          memory);
    }
    Inspection.Clean clean = (Inspection.Clean) inspection;
    ImageLayout layout = image.layout();
    Optional<ObjectMap> stored = new UsageMeter(image.pool()).objectMap(image.id());
    if (stored.isEmpty() && layout.objects() > ObjectWalk.MOST_OBJECTS) {
      String why =
          "the image has no valid object map of 8 MiB at most, and more than "
              + ObjectWalk.MOST_OBJECTS
              + " objects to be asked for";
      return Planned.nothing(
          TrimReport.skipped(RefusalReason.TOO_LARGE, why, clean.kind().label())
              .of(survey.content()),
          encrypted,
          memory);
    }
    boolean snapshots = !image.snapshots().list().isEmpty();
    TrimPlan plan =
        new TrimPlan(
            free.apply(clean),
            layout,
            stored.orElseGet(() -> ObjectWalk.of(image, stop)),
            image.parent().isPresent() ? image.overlap() : 0,
            !snapshots
                ? TrimPlan.Sharing.NONE
                : stored.isPresent() ? TrimPlan.Sharing.BY_MAP : TrimPlan.Sharing.UNKNOWN,
            granularity);
    TrimReport report =
        TrimReport.done(survey.content().understood() + where, plan.sum()).of(survey.content());
    return new Planned(report, Optional.of(plan), encrypted, memory);
  }

  /**
   * Discards by a plan; ends early when told to stop, with what is in flight done.
   *
   * @param concurrency how many discards are in flight
   * @param stop asked before each discard, also when it has waited for others; must not block
   * @param sent sums up what was discarded; when a discard fails, as many as are in flight of what
   *     it says may not have been carried out
   * @throws CephException when a discard fails
   */
  static void discard(
      RbdImage image,
      TrimPlan plan,
      int concurrency,
      Throttle pace,
      Operation operation,
      BooleanSupplier stop,
      TrimPlan.Tally sent) {
    long total = plan.sum().bytes();
    try (DiscardPipeline pipeline = image.discardPipeline(concurrency)) {
      try {
        plan.forEach(
            (offset, length, whole) -> {
              if (stop.getAsBoolean() || !pipeline.discard(offset, length, stop)) {
                throw new Stopped();
              }
              sent.discard(offset, length, whole);
              operation.progress(pipeline.discardedBytes(), total);
              pace.worked(length, stop);
            });
      } catch (Stopped e) {
        // what is in flight is finished below, and nothing more is begun
      }
      pipeline.drain();
    }
  }

  /** Ends the walk over a plan. */
  private static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Stopped() {
      super("stopped", null, false, false);
    }
  }
}
