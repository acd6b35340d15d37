package io.cephcsi.driver.profile;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A call through the driver's socket. Does not block. */
@Name("io.cephcsi.Rpc")
@Label("RPC")
@Description("A call through the socket, from its first byte until its status is sent")
@Category("Ceph CSI")
@Enabled(false)
@StackTrace(false)
public final class Rpc extends Event {
  private static final Rpc ANY = new Rpc();

  @Label("Driver")
  String driver = "";

  @Label("Call Id")
  @Description("As in the log, in brackets")
  long callId;

  @Label("Method")
  String method = "";

  @Label("Status")
  @Description("The status code of gRPC")
  String status = "";

  private Rpc() {}

  /**
   * Begins an event.
   *
   * @return null while nobody records such events; then nothing is allocated
   */
  public static @Nullable Rpc begun() {
    if (!ANY.isEnabled()) {
      return null;
    }
    Rpc event = new Rpc();
    event.begin();
    return event;
  }

  /**
   * Ends the event and writes it.
   *
   * @param callId as in the log
   * @param method the full name, such as {@code csi.v1.Controller/CreateVolume}
   * @param status the status code's name
   */
  public void ended(String driver, long callId, String method, String status) {
    this.driver = driver;
    this.callId = callId;
    this.method = method;
    this.status = status;
    commit();
  }
}
