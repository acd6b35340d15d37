package io.cephcsi.bindings.rados;

import com.ceph.rados.Rados;
import com.ceph.rados.exceptions.RadosException;
import com.sun.jna.Pointer;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.TaskWait;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.FutureTask;

/**
 * rados-java's cluster handle, used to create, configure, connect and shut down and for nothing
 * else. Its finalizer, which would shut down a handle that is in use, is switched off.
 */
final class RadosHandle extends Rados {
  private static final long STACK_BYTES = 8 << 20;

  private RadosHandle(String userId) {
    super(userId);
  }

  /** Creates, configures and connects; nothing is left behind when a step fails. */
  static RadosHandle connect(ConnectionSettings settings) {
    return connect(settings, Map.of());
  }

  /**
   * As {@link #connect(ConnectionSettings)}, for commands to the manager, with no timeout. When one
   * passes, {@code rados_mgr_command} returns ETIMEDOUT as a positive number, and the answer that
   * comes later is written to the stack of the caller that has gone (tracker.ceph.com issue 65985;
   * seen to abort the process).
   */
  static RadosHandle connectForManager(ConnectionSettings settings) {
    return connect(settings, Map.of("rados_mon_op_timeout", "0"));
  }

  /**
   * Connects on a thread with room: setting up the table of options, libceph-common has a frame of
   * nearly 1 MB, which is all that a thread of the JVM has by default.
   */
  private static RadosHandle connect(ConnectionSettings settings, Map<String, String> last) {
    FutureTask<RadosHandle> task = new FutureTask<>(() -> connectHere(settings, last));
    Thread thread = new Thread(null, task, "rados-connect", STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
    // Its handle must not be lost, so it is waited for.
    return TaskWait.result(task, TaskWait.WITHOUT_END, "connecting failed").orElseThrow();
  }

  private static RadosHandle connectHere(ConnectionSettings settings, Map<String, String> last) {
    RadosHandle handle = new RadosHandle(settings.userId());
    if (handle.clusterPtr == null) {
      throw ReturnCode.exception(
          -Errno.ENOMEM.number(), "rados_create", settings.toString(), "no handle");
    }
    try {
      handle.configure(settings);
      last.forEach(handle::set);
      handle.call("rados_connect", settings.toString(), handle::connect);
      return handle;
    } catch (RuntimeException e) {
      handle.disconnect();
      throw e;
    }
  }

  private void configure(ConnectionSettings settings) {
    // A library inside a server: it logs through its caller's errors, not to stderr or a file.
    set("log_to_stderr", "false");
    set("err_to_stderr", "false");
    // What it keeps of its last lines would be written nowhere, and takes half a megabyte.
    set("log_max_recent", "1");
    // Reading a file puts into force what is set so far: without it, what goes wrong before the
    // connection stands is written to stderr, a key that cannot be parsed included.
    String file = settings.configFile().map(Path::toString).orElse("/dev/null");
    call("rados_conf_read_file", file, () -> confReadFile(new File(file)));
    // CephFS: what the driver may do, the capabilities of its key say, which the MDS enforces. The
    // modes of files are for others, and libcephfs would ask the MDS again and again for those of
    // .snap, which no client may keep.
    set("client_permissions", "false");
    set("client_mount_timeout", seconds(settings.connectTimeout()));
    String seconds = seconds(settings.operationTimeout());
    set("rados_osd_op_timeout", seconds);
    set("rados_mon_op_timeout", seconds);
    for (Map.Entry<String, String> option : settings.options().entrySet()) {
      set(option.getKey(), option.getValue());
    }
    if (settings.options().containsKey("key")) {
      set("keyring", "/dev/null"); // the key is given: no search for a keyring file
    }
  }

  /** Rounded up: 0 would mean to wait for ever. */
  private static String seconds(Duration timeout) {
    return Long.toString(timeout.plusNanos(999_999_999).toSeconds());
  }

  private void set(String option, String value) {
    call("rados_conf_set", option, () -> confSet(option, value)); // the value may be a secret
  }

  /** Shuts down; a second time does nothing. */
  void disconnect() {
    shutDown();
  }

  /** The native handle; 0 after {@link #disconnect()}. */
  long pointer() {
    return Pointer.nativeValue(clusterPtr);
  }

  private void call(String operation, String object, RadosCall call) {
    try {
      call.run();
    } catch (RadosException e) {
      // The errno as it came, or 0 when the call itself could not be made. The text, which may hold
      // a value, is dropped.
      int code = e.getReturnValue();
      throw ReturnCode.exception(code < 0 ? code : -Errno.EIO.number(), operation, object, "");
    }
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
