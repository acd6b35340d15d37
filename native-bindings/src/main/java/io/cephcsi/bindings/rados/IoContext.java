package io.cephcsi.bindings.rados;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.profile.RadosOperation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A pool and a namespace in it ({@code rados_ioctx_t}).
 *
 * <p>All calls may run on several threads at once. {@link #lastVersion()} alone belongs to the
 * context, not to the thread: who uses it needs a context of their own.
 *
 * <p>Reads, writes and compound operations are hot paths: they take the handle by {@link #enter()}
 * and {@link #exit()} themselves and describe the object only for an error, so that they allocate
 * nothing more. All other calls go through {@link #use} and {@link #call}.
 */
public final class IoContext extends NativeHandle {
  private static final int MAX_ERRNO = 4095;

  private final RadosCluster cluster;
  private final String pool;
  private final String namespace;
  private final long poolId;

  private IoContext(RadosCluster cluster, String pool, String namespace, long pointer) {
    super("pool " + (namespace.isEmpty() ? pool : pool + "/" + namespace), cluster, pointer, true);
    this.cluster = cluster;
    this.pool = pool;
    this.namespace = namespace;
    this.poolId = LibRados.rados_ioctx_get_id(pointer);
  }

  /** Called inside a call of the cluster. */
  static IoContext open(RadosCluster cluster, long clusterPointer, String pool, String namespace) {
    try (NativeArena arena = NativeArena.open()) {
      long space = arena.cString(namespace); // may refuse, so before there is anything to destroy
      long out = arena.cell(0);
      check(
          LibRados.rados_ioctx_create(clusterPointer, arena.cString(pool), out),
          "rados_ioctx_create",
          pool);
      LibRados.rados_ioctx_set_namespace(arena.getLong(out), space);
      return new IoContext(cluster, pool, namespace, arena.getLong(out));
    }
  }

  @Override
  protected void destroy(long pointer) {
    LibRados.rados_ioctx_destroy(pointer);
  }

  /**
   * Lets this context try to write where a quota or a full OSD makes other writes wait ({@code
   * rados_set_pool_full_try}): what needs no more space, such as removing and discarding, is done,
   * all else fails with EDQUOT or ENOSPC. Images that are opened afterwards do the same.
   *
   * @return this
   */
  public IoContext tryWhenFull() {
    return use(
        (io, arena) -> {
          LibRados.rados_set_pool_full_try(io);
          return this;
        });
  }

  /** The connection that this pool was opened through. */
  public RadosCluster cluster() {
    return cluster;
  }

  /** The pool's name. */
  public String pool() {
    return pool;
  }

  /** The namespace; empty for the default one. */
  public String namespace() {
    return namespace;
  }

  /** The pool's id. */
  public long poolId() {
    return poolId;
  }

  /** The object's name with pool and namespace, for messages. */
  String describe(String object) {
    return namespace.isEmpty() ? pool + "/" + object : pool + "/" + namespace + "/" + object;
  }

  /** As {@link ReturnCode#check}; the object is described only if the call failed. */
  private int checked(int code, String operation, String object) {
    return code < 0 ? check(code, operation, describe(object)) : code;
  }

  /** {@link #recorded}, and {@link #checked(int, String, String)}. */
  private int checked(
      @Nullable RadosOperation event, int code, String operation, String object, long bytes) {
    return checked(recorded(event, code, operation, object, bytes), operation, object);
  }

  /**
   * Writes the event of a call if there is one. Java evaluates arguments in their order: an event
   * that is begun as the first of them begins before the call that is the second.
   *
   * @param bytes how much data was sent; what was read, the code says
   * @return the code
   */
  int recorded(
      @Nullable RadosOperation event, int code, String operation, String object, long bytes) {
    if (event != null) {
      event.ended(operation, pool, namespace, object, code > 0 ? code : bytes, meant(code));
    }
    return code;
  }

  /**
   * The version of the object that the last completed operation of this context read or wrote
   * ({@code rados_get_last_version}).
   */
  public long lastVersion() {
    return use((io, arena) -> LibRados.rados_get_last_version(io));
  }

  /**
   * Reads from an object ({@code rados_read}).
   *
   * @param offset in bytes
   * @param length how many bytes at most; 0 asks only whether the object exists
   * @return what is there; shorter at the object's end
   */
  public byte[] read(String object, long offset, int length) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      long buffer = arena.allocate(length);
      int wanted = Math.max(length, 1); // to the cluster, 0 means the whole object
      int got =
          checked(
              RadosOperation.begun(),
              LibRados.rados_read(io, arena.cString(object), buffer, wanted, offset),
              "rados_read",
              object,
              0);
      return arena.getBytes(buffer, Math.min(got, length));
    } finally {
      exit();
    }
  }

  /** Writes at an offset ({@code rados_write}). */
  public void write(String object, long offset, byte[] data) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      checked(
          RadosOperation.begun(),
          LibRados.rados_write(io, arena.cString(object), arena.bytes(data), data.length, offset),
          "rados_write",
          object,
          data.length);
    } finally {
      exit();
    }
  }

  /** Replaces an object's data ({@code rados_write_full}). */
  public void writeFull(String object, byte[] data) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      checked(
          RadosOperation.begun(),
          LibRados.rados_write_full(io, arena.cString(object), arena.bytes(data), data.length),
          "rados_write_full",
          object,
          data.length);
    } finally {
      exit();
    }
  }

  /** Adds to an object's end ({@code rados_append}). */
  public void append(String object, byte[] data) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      checked(
          RadosOperation.begun(),
          LibRados.rados_append(io, arena.cString(object), arena.bytes(data), data.length),
          "rados_append",
          object,
          data.length);
    } finally {
      exit();
    }
  }

  /** Cuts or extends an object ({@code rados_trunc}); {@code size} in bytes. */
  public void truncate(String object, long size) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      checked(
          RadosOperation.begun(),
          LibRados.rados_trunc(io, arena.cString(object), size),
          "rados_trunc",
          object,
          0);
    } finally {
      exit();
    }
  }

  /**
   * Removes an object ({@code rados_remove}).
   *
   * @throws CephException.NotFound if it does not exist
   */
  public void remove(String object) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      checked(
          RadosOperation.begun(),
          LibRados.rados_remove(io, arena.cString(object)),
          "rados_remove",
          object,
          0);
    } finally {
      exit();
    }
  }

  /**
   * Size and age of an object ({@code rados_stat}).
   *
   * @throws CephException.NotFound if it does not exist
   */
  public ObjectStat stat(String object) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      long size = arena.cell(0);
      long seconds = arena.cell(0);
      checked(
          RadosOperation.begun(),
          LibRados.rados_stat(io, arena.cString(object), size, seconds),
          "rados_stat",
          object,
          0);
      return new ObjectStat(arena.getLong(size), Instant.ofEpochSecond(arena.getLong(seconds)));
    } finally {
      exit();
    }
  }

  /** Whether an object is there; one round trip. */
  public boolean exists(String object) {
    try (ReadOperation read = new ReadOperation()) {
      read.assertExists();
      operate(object, read);
      return true;
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  /**
   * Reads an extended attribute ({@code rados_getxattr}).
   *
   * @throws CephException with ENODATA if the object has no such attribute; {@link
   *     CephException.TooLarge} if it has more than 64 KiB
   */
  public byte[] getXattr(String object, String name) {
    return use(
        (io, arena) -> {
          long oid = arena.cString(object);
          long key = arena.cString(name);
          return GrowingBuffer.readValue(
              4096,
              "rados_getxattr",
              describe(object) + " " + name,
              (buffer, size, cell) ->
                  recorded(
                      RadosOperation.begun(),
                      LibRados.rados_getxattr(io, oid, key, buffer, size),
                      "rados_getxattr",
                      object,
                      0),
              (buffer, bytes, count) -> NativeMemory.bytes(buffer, bytes));
        });
  }

  /** Sets an extended attribute ({@code rados_setxattr}). */
  public void setXattr(String object, String name, byte[] value) {
    call(
        "rados_setxattr",
        describe(object) + " " + name,
        (io, arena) ->
            recorded(
                RadosOperation.begun(),
                LibRados.rados_setxattr(
                    io,
                    arena.cString(object),
                    arena.cString(name),
                    arena.bytes(value),
                    value.length),
                "rados_setxattr",
                object,
                value.length));
  }

  /** Removes an extended attribute ({@code rados_rmxattr}). */
  public void removeXattr(String object, String name) {
    call(
        "rados_rmxattr",
        describe(object) + " " + name,
        (io, arena) ->
            recorded(
                RadosOperation.begun(),
                LibRados.rados_rmxattr(io, arena.cString(object), arena.cString(name)),
                "rados_rmxattr",
                object,
                0));
  }

  /** The names of all objects in this namespace ({@code rados_nobjects_list_open}); long. */
  public List<String> objects() {
    List<String> names = new ArrayList<>();
    objects(names::add);
    return names;
  }

  /**
   * Visits the names of all objects in this namespace, without keeping them ({@code
   * rados_nobjects_list_open}); long. Objects that come or go meanwhile may be visited or not.
   * Bytes that are no UTF-8 come as U+FFFD.
   *
   * @param visitor must not close this context; what it throws ends the list
   */
  public void objects(Consumer<String> visitor) {
    use(
        (io, arena) -> {
          long out = arena.cell(0);
          check(LibRados.rados_nobjects_list_open(io, out), "rados_nobjects_list_open", toString());
          long list = arena.getLong(out);
          try {
            objects(arena, list, visitor);
            return true;
          } finally {
            LibRados.rados_nobjects_list_close(list);
          }
        });
  }

  private void objects(NativeArena arena, long list, Consumer<String> visitor) {
    long entry = arena.cell(0);
    long key = arena.cell(0);
    long space = arena.cell(0);
    long entryLength = arena.cell(0);
    long keyLength = arena.cell(0);
    long spaceLength = arena.cell(0);
    while (true) {
      int code =
          LibRados.rados_nobjects_list_next2(
              list, entry, key, space, entryLength, keyLength, spaceLength);
      if (code == -Errno.ENOENT.number()) {
        return;
      }
      check(code, "rados_nobjects_list_next2", toString());
      visitor.accept(NativeMemory.string(arena.getLong(entry), arena.getLong(entryLength)));
    }
  }

  /**
   * Calls a method of an object class ({@code rados_exec}).
   *
   * @param maxOutput how many bytes of output are expected at most
   * @return the output
   */
  public byte[] exec(
      String object, String objectClass, String method, byte[] input, int maxOutput) {
    return use(
        (io, arena) -> {
          long buffer = arena.allocate(maxOutput);
          int got =
              recorded(
                  RadosOperation.begun(),
                  LibRados.rados_exec(
                      io,
                      arena.cString(object),
                      arena.cString(objectClass),
                      arena.cString(method),
                      arena.bytes(input),
                      input.length,
                      buffer,
                      maxOutput),
                  "rados_exec",
                  object,
                  input.length);
          check(got, "rados_exec", describe(object) + " " + objectClass + "." + method);
          return arena.getBytes(buffer, Math.min(got, maxOutput));
        });
  }

  /**
   * Carries out a compound write ({@code rados_write_op_operate}): all of it, or nothing.
   *
   * @throws CephException.Canceled if a comparison in it failed
   * @throws StaleVersionException if the version asserted is not the object's
   */
  public void operate(String object, WriteOperation operation) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      long op = operation.enterOnce();
      try {
        int code =
            recorded(
                RadosOperation.begun(),
                LibRados.rados_write_op_operate(
                    op,
                    io,
                    arena.cString(object),
                    operation
                        .modifiedAt()
                        .map(time -> arena.cell(time.getEpochSecond()))
                        .orElse(0L),
                    0),
                "rados_write_op_operate",
                object,
                0);
        if (code < 0) {
          throw failure(
              code, "rados_write_op_operate", describe(object), operation.assertsVersion());
        }
      } finally {
        operation.exit();
      }
    } finally {
      exit();
    }
  }

  /**
   * Starts a compound write and returns at once ({@code rados_aio_write_op_operate}). The operation
   * may be closed as soon as this returns.
   *
   * @throws IllegalArgumentException if it says when the object was changed, which librados would
   *     ignore
   */
  public Completion operateAsync(String object, WriteOperation operation) {
    if (operation.modifiedAt().isPresent()) {
      throw new IllegalArgumentException("the " + operation + " sets the time of the change");
    }
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      long op = operation.enterOnce();
      try {
        Completion completion =
            Completion.create(
                this, "rados_aio_write_op_operate", object, operation.assertsVersion());
        completion.start(
            pointer ->
                LibRados.rados_aio_write_op_operate(op, io, pointer, arena.cString(object), 0, 0));
        return completion;
      } finally {
        operation.exit();
      }
    } finally {
      exit();
    }
  }

  /**
   * Carries out a compound read ({@code rados_read_op_operate}). Afterwards the results of its
   * steps can be asked, each once the step itself succeeded.
   *
   * @throws CephException.NotFound if the object does not exist
   * @throws StaleVersionException if the version asserted is not the object's
   */
  public void operate(String object, ReadOperation operation) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      long op = operation.enterOnce();
      try {
        int code =
            recorded(
                RadosOperation.begun(),
                LibRados.rados_read_op_operate(op, io, arena.cString(object), 0),
                "rados_read_op_operate",
                object,
                0);
        operation.completed(code, describe(object));
      } finally {
        operation.exit();
      }
    } finally {
      exit();
    }
  }

  /**
   * Carries out a compound write as {@link #operate(String, WriteOperation)} does, and says which
   * version of the object it made. Other threads may use this context meanwhile; {@link
   * #lastVersion()} is not touched.
   *
   * @return the version to assert in the next write; of no use after a removal
   */
  public long operateVersioned(String object, WriteOperation operation) {
    try (Completion completion = operateAsync(object, operation)) {
      completion.await();
      return completion.version();
    }
  }

  /**
   * Carries out a compound read as {@link #operate(String, ReadOperation)} does, and says which
   * version of the object was read ({@code rados_aio_read_op_operate}). Other threads may use this
   * context meanwhile; {@link #lastVersion()} is not touched.
   */
  public long operateVersioned(String object, ReadOperation operation) {
    try (PendingRead read = operateAsync(object, operation)) {
      return read.await();
    }
  }

  /**
   * Starts a compound read and returns at once ({@code rados_aio_read_op_operate}). The operation
   * is closed with what is returned, not before.
   */
  public PendingRead operateAsync(String object, ReadOperation operation) {
    long io = enter();
    try (NativeArena arena = NativeArena.open()) {
      long op = operation.enterOnce();
      boolean begun = false;
      try {
        Completion completion =
            Completion.create(
                this, "rados_aio_read_op_operate", object, operation.assertsVersion());
        completion.start(
            pointer ->
                LibRados.rados_aio_read_op_operate(op, io, pointer, arena.cString(object), 0));
        begun = true;
        return new PendingRead(operation, completion, describe(object));
      } finally {
        if (!begun) {
          operation.exit();
        }
      }
    } finally {
      exit();
    }
  }

  /** Waits until all asynchronous writes of this context are complete ({@code rados_aio_flush}). */
  public void flush() {
    call(
        "rados_aio_flush",
        toString(),
        (io, arena) ->
            recorded(
                RadosOperation.begun(), LibRados.rados_aio_flush(io), "rados_aio_flush", "", 0));
  }

  /**
   * Notifies the watchers of an object and waits for their answers ({@code rados_notify2}). It is
   * the OSD that ends this wait: the operation's timeout applies until the OSD has taken the
   * notification, and from then on none. One that freezes in between is waited for until it goes on
   * or another takes its place.
   *
   * @param timeoutMillis how long to wait for watchers
   * @return how many watchers answered in time
   * @throws CephException.TimedOut if one did not
   */
  public int notifyWatchers(String object, byte[] payload, long timeoutMillis) {
    return notifiedClients(object, payload, timeoutMillis).size();
  }

  /**
   * As {@link #notifyWatchers}.
   *
   * @return who answered in time: the ids of the clients ({@link RadosCluster#instanceId()}), once
   *     for each watch
   * @throws CephException.TimedOut if one did not
   */
  public List<Long> notifiedClients(String object, byte[] payload, long timeoutMillis) {
    return use(
        (io, arena) -> {
          long reply = arena.cell(0);
          long replyLength = arena.cell(0);
          int code =
              recorded(
                  RadosOperation.begun(),
                  LibRados.rados_notify2(
                      io,
                      arena.cString(object),
                      arena.bytes(payload),
                      payload.length,
                      timeoutMillis,
                      reply,
                      replyLength),
                  "rados_notify2",
                  object,
                  payload.length);
          long buffer = arena.getLong(reply);
          try {
            checked(code, "rados_notify2", object);
            return NotifyReply.clients(
                new ReadLimit().output(buffer, arena.getLong(replyLength), object));
          } finally {
            RadosBuffer.free(buffer);
          }
        });
  }

  /**
   * Watches an object ({@code rados_watch3}).
   *
   * @param timeoutSeconds after how long without contact the cluster drops the watch; 0 for its
   *     default
   * @param listener told of notifications on a thread of librados: it must return soon and must not
   *     call the cluster
   */
  public Watch watch(String object, int timeoutSeconds, Watch.Listener listener) {
    return Watch.open(this, object, timeoutSeconds, listener);
  }

  /** The exception for a failed compound operation in which a version may have been asserted. */
  static RuntimeException failure(
      int code, String operation, String object, boolean versionAsserted) {
    Errno errno = Errno.of(code);
    if (versionAsserted && (errno == Errno.ERANGE || errno == Errno.EOVERFLOW)) {
      return new StaleVersionException(operation, object, code);
    }
    return ReturnCode.exception(meant(code), operation, object, "");
  }

  /**
   * What {@link WriteOperation#compareData} finds different comes as the place, below all error
   * numbers.
   */
  private static int meant(int code) {
    return code <= -MAX_ERRNO ? -Errno.ECANCELED.number() : code;
  }
}
