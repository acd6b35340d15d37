package io.cephcsi.bindings.profile;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import org.jspecify.annotations.Nullable;

/** An operation on an object of RADOS. Used by one thread at a time; does not block. */
@Name("io.cephcsi.RadosOperation")
@Label("RADOS Operation")
@Description("An operation on an object, from its start until its caller sees that it is complete")
public final class RadosOperation extends NativeCall {
  private static final RadosOperation ANY = new RadosOperation();

  @Label("Object")
  String object = "";

  private RadosOperation() {}

  /**
   * Begins an event.
   *
   * @return null while nobody records such events; then nothing is allocated
   */
  public static @Nullable RadosOperation begun() {
    if (!ANY.isEnabled()) {
      return null;
    }
    RadosOperation event = new RadosOperation();
    event.begin();
    return event;
  }

  /**
   * Ends the event and writes it.
   *
   * @param operation the C function
   * @param namespace empty for the default one
   * @param bytes how much data it was about; 0 where that is not known
   * @param code what the function returned: negative is an error number
   */
  public void ended(
      String operation, String pool, String namespace, String object, long bytes, long code) {
    this.object = object;
    fill(operation, pool, namespace, bytes, code);
    commit();
  }
}
