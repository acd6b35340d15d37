package io.cephcsi.bindings.profile;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import org.jspecify.annotations.Nullable;

/** A call of librbd. Used by one thread at a time; does not block. */
@Name("io.cephcsi.LibrbdCall")
@Label("librbd Call")
@Description("A call of librbd, from its start until its caller sees that it is complete")
public final class LibrbdCall extends NativeCall {
  private static final LibrbdCall ANY = new LibrbdCall();

  @Label("Image")
  @Description("The name or id by which the image was opened; or the name of a group")
  String image = "";

  private LibrbdCall() {}

  /**
   * Begins an event.
   *
   * @return null while nobody records such events; then nothing is allocated
   */
  public static @Nullable LibrbdCall begun() {
    if (!isRecorded()) {
      return null;
    }
    LibrbdCall event = new LibrbdCall();
    event.begin();
    return event;
  }

  /** Whether somebody records such events. */
  public static boolean isRecorded() {
    return ANY.isEnabled();
  }

  /**
   * Ends the event and writes it; its duration is that until {@link #end()} if that was called.
   *
   * @param operation the C function
   * @param namespace empty for the default one
   * @param image the image's name or id; empty if it is about none
   * @param bytes how much data it was about; 0 where that is not known
   * @param code what the function returned: negative is an error number
   */
  public void ended(
      String operation, String pool, String namespace, String image, long bytes, long code) {
    this.image = image;
    fill(operation, pool, namespace, bytes, code);
    commit();
  }
}
