package io.cephcsi.bindings.profile;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import org.jspecify.annotations.Nullable;

/** Many discards of one image. Used by one thread at a time; does not block. */
@Name("io.cephcsi.DiscardBatch")
@Label("Discard Batch")
@Description("The discards of a pipeline, from the first until all are stored")
public final class DiscardBatch extends NativeCall {
  private static final DiscardBatch ANY = new DiscardBatch();

  @Label("Image")
  @Description("The name or id by which the image was opened")
  String image = "";

  @Label("In Flight")
  @Description("How many discards run at once at most")
  int inFlight;

  @Label("Discards")
  @Description("How many were started")
  long discards;

  private DiscardBatch() {}

  /**
   * Begins an event.
   *
   * @return null while nobody records such events; then nothing is allocated
   */
  public static @Nullable DiscardBatch begun() {
    if (!ANY.isEnabled()) {
      return null;
    }
    DiscardBatch event = new DiscardBatch();
    event.begin();
    return event;
  }

  /**
   * Ends the event and writes it.
   *
   * @param operation the C function
   * @param namespace empty for the default one
   * @param image the image's name or id
   * @param inFlight how many discards run at once at most
   * @param discards how many were started
   * @param bytes of those that succeeded
   * @param code 0, or the first error number, negative
   */
  public void ended(
      String operation,
      String pool,
      String namespace,
      String image,
      int inFlight,
      long discards,
      long bytes,
      long code) {
    this.image = image;
    this.inFlight = inFlight;
    this.discards = discards;
    fill(operation, pool, namespace, bytes, code);
    commit();
  }
}
