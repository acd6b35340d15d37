package io.cephcsi.bindings.profile;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.StackTrace;

/** What the events of native calls have in common. Used by one thread at a time. */
@Category("Ceph CSI")
@Enabled(false)
@StackTrace(false)
abstract class NativeCall extends Event {
  @Label("Operation")
  @Description("The C function")
  String operation = "";

  @Label("Pool")
  String pool = "";

  @Label("Namespace")
  @Description("The RADOS namespace; empty for the default one")
  String namespace = "";

  @Label("Bytes")
  @Description("How much data was read, written or discarded; 0 where that is not known")
  @DataAmount
  long bytes;

  @Label("Errno")
  @Description("0 for success, else the negative error number")
  int errno;

  /**
   * Sets the fields. The event is written by its own class: methods of {@link Event} do nothing
   * when they are called here, as the flight recorder replaces them in the classes of events.
   */
  final void fill(String operation, String pool, String namespace, long bytes, long code) {
    this.operation = operation;
    this.pool = pool;
    this.namespace = namespace;
    this.bytes = bytes;
    this.errno = (int) Math.min(code, 0);
  }
}
