package io.cephcsi.bindings.rados;

import com.ceph.rados.Rados;
import com.ceph.rados.exceptions.ErrorCode;
import com.ceph.rados.exceptions.RadosException;
import com.sun.jna.Pointer;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import java.io.File;
import java.util.Map;

/**
 * rados-java's cluster handle, used to create, configure, connect and shut down and for nothing
 * else. Its finalizer, which would shut down a handle behind our back, is switched off.
 */
final class RadosHandle extends Rados {
  private RadosHandle(String userId) {
    super(userId);
  }

  /** Creates, configures and connects; nothing is left behind when a step fails. */
  static RadosHandle connect(ConnectionSettings settings) {
    RadosHandle handle = new RadosHandle(settings.userId());
    if (handle.clusterPtr == null) {
      throw ReturnCode.exception(
          -Errno.ENOMEM.number(), "rados_create", settings.toString(), "no handle");
    }
    try {
      handle.configure(settings);
      handle.call("rados_connect", settings.toString(), handle::connect);
      return handle;
    } catch (RuntimeException e) {
      handle.shutDown();
      throw e;
    }
  }

  private void configure(ConnectionSettings settings) {
    settings
        .configFile()
        .ifPresent(
            file ->
                call(
                    "rados_conf_read_file",
                    file.toString(),
                    () -> confReadFile(new File(file.toString()))));
    set("client_mount_timeout", Long.toString(settings.connectTimeout().toSeconds()));
    String seconds = Long.toString(settings.operationTimeout().toSeconds());
    set("rados_osd_op_timeout", seconds);
    set("rados_mon_op_timeout", seconds);
    // A library inside a server: it logs through its caller's errors, not to stderr or a file.
    set("log_to_stderr", "false");
    set("err_to_stderr", "false");
    for (Map.Entry<String, String> option : settings.options().entrySet()) {
      set(option.getKey(), option.getValue());
    }
    if (settings.options().containsKey("key")) {
      set("keyring", "/dev/null"); // the key is given: no search for a keyring file
    }
  }

  private void set(String option, String value) {
    call("rados_conf_set", option, () -> confSet(option, value)); // the value may be a secret
  }

  /** The native handle; 0 after {@link #shutDown()}. */
  long pointer() {
    return Pointer.nativeValue(clusterPtr);
  }

  private void call(String operation, String object, RadosCall call) {
    try {
      call.run();
    } catch (RadosException e) {
      // rados-java gives the errno as it came, or the ordinal of its own enum; the text, which may
      // hold a value, is dropped.
      throw ReturnCode.exception(errno(e), operation, object, "");
    }
  }

  private static int errno(RadosException e) {
    if (e.getReturnValue() < 0) {
      return e.getReturnValue();
    }
    ErrorCode[] codes = ErrorCode.values();
    return e.getReturnValue() < codes.length
        ? -Math.abs(codes[e.getReturnValue()].getErrorCode())
        : -Errno.EIO.number();
  }

  @SuppressWarnings({"deprecation", "removal", "Finalize", "MissingSuperCall"})
  @Override
  protected void finalize() {
    // Empty on purpose: RadosCluster owns the handle and shuts it down exactly once.
  }

  /** A call of rados-java. */
  private interface RadosCall {
    void run() throws RadosException;
  }
}
