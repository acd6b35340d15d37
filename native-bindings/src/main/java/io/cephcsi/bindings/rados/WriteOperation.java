package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import java.time.Instant;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;

/**
 * A compound write on one object ({@code rados_write_op_t}): its steps happen in order and all
 * together, or not at all.
 *
 * <p>Built by one thread; carried out by {@link IoContext#operate(String, WriteOperation)}. The
 * arguments are copied as the steps are added. An operation is carried out once: librados gives its
 * steps away.
 */
public final class WriteOperation extends CompoundOperation {
  private Optional<Instant> modifiedAt = Optional.empty();

  /** An empty operation. */
  public WriteOperation() {
    super("write operation", LibRados.rados_create_write_op());
  }

  /**
   * Has the object tell this as the time of its last change, in place of the time now, until it is
   * written again. Only {@link IoContext#operate(String, WriteOperation)} carries such an operation
   * out: librados ignores the time in {@code rados_aio_write_op_operate}.
   *
   * @param time after 1970-01-01T00:00:00Z; a part of a second is cut off
   */
  public WriteOperation modifiedAt(Instant time) {
    if (time.getEpochSecond() <= 0) {
      throw new IllegalArgumentException(
          "the cluster takes " + time + " for no time: it must be after 1970-01-01T00:00:00Z");
    }
    modifiedAt = Optional.of(time);
    return this;
  }

  /** What {@link #modifiedAt(Instant)} was given. */
  Optional<Instant> modifiedAt() {
    return modifiedAt;
  }

  @Override
  protected void destroy(long pointer) {
    LibRados.rados_release_write_op(pointer);
  }

  /**
   * Fails the operation with ENOENT unless the object exists ({@code
   * rados_write_op_assert_exists}).
   */
  public WriteOperation assertExists() {
    LibRados.rados_write_op_assert_exists(ownPointer());
    return this;
  }

  /**
   * Fails the operation with {@link StaleVersionException} unless the object has this version, as
   * {@link IoContext#lastVersion()} gave it ({@code rados_write_op_assert_version}).
   */
  public WriteOperation assertVersion(long version) {
    LibRados.rados_write_op_assert_version(ownPointer(), version);
    markVersionAsserted();
    return this;
  }

  /** Creates the object, or fails the operation with EEXIST ({@code rados_write_op_create}). */
  public WriteOperation createExclusive() {
    return create(1);
  }

  /** Creates the object unless it exists ({@code rados_write_op_create}). */
  public WriteOperation create() {
    return create(0);
  }

  private WriteOperation create(int exclusive) {
    LibRados.rados_write_op_create(ownPointer(), exclusive, 0);
    return this;
  }

  /** Writes at an offset in bytes ({@code rados_write_op_write}). */
  public WriteOperation write(long offset, byte[] data) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_write(op, arena.bytes(data), data.length, offset);
      return this;
    }
  }

  /** Replaces the object's data ({@code rados_write_op_write_full}). */
  public WriteOperation writeFull(byte[] data) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_write_full(op, arena.bytes(data), data.length);
      return this;
    }
  }

  /** Cuts or extends the object to a size in bytes ({@code rados_write_op_truncate}). */
  public WriteOperation truncate(long size) {
    LibRados.rados_write_op_truncate(ownPointer(), size);
    return this;
  }

  /** Removes the object ({@code rados_write_op_remove}). */
  public WriteOperation remove() {
    LibRados.rados_write_op_remove(ownPointer());
    return this;
  }

  /** Sets an extended attribute ({@code rados_write_op_setxattr}). */
  public WriteOperation setXattr(String name, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_setxattr(op, arena.cString(name), arena.bytes(value), value.length);
      return this;
    }
  }

  /** Removes an extended attribute ({@code rados_write_op_rmxattr}). */
  public WriteOperation removeXattr(String name) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_rmxattr(op, arena.cString(name));
      return this;
    }
  }

  /**
   * Fails the operation with ECANCELED unless the attribute has this value ({@code
   * rados_write_op_cmpxattr}).
   */
  public WriteOperation compareXattr(String name, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_cmpxattr(
          op, arena.cString(name), LibRados.CMP_EQ, arena.bytes(value), value.length);
      return this;
    }
  }

  /**
   * Fails the operation with ECANCELED unless the object has this data at an offset ({@code
   * rados_write_op_cmpext}), and with ENOENT if there is no object.
   *
   * @param offset in bytes
   */
  public WriteOperation compareData(long offset, byte[] data) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_cmpext(op, arena.bytes(data), data.length, offset, 0);
      return this;
    }
  }

  /** Sets one omap key ({@code rados_write_op_omap_set}). */
  public WriteOperation omapSet(String key, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      long keys = arena.cell(arena.cString(key));
      long values = arena.cell(arena.bytes(value));
      LibRados.rados_write_op_omap_set(op, keys, values, arena.cell(value.length), 1);
      return this;
    }
  }

  /** Sets omap keys; others stay ({@code rados_write_op_omap_set}). */
  public WriteOperation omapSet(Map<String, byte[]> entries) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      int count = entries.size();
      long[] keys = new long[count];
      long[] values = new long[count];
      long[] lengths = new long[count];
      int i = 0;
      for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
        keys[i] = arena.cString(entry.getKey());
        values[i] = arena.bytes(entry.getValue());
        lengths[i] = entry.getValue().length;
        i++;
      }
      LibRados.rados_write_op_omap_set(
          op, arena.longs(keys), arena.longs(values), arena.longs(lengths), count);
      return this;
    }
  }

  /**
   * Removes omap keys ({@code rados_write_op_omap_rm_keys2}); keys that are absent do not matter.
   */
  public WriteOperation omapRemove(Collection<String> keys) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      OmapKeys names = OmapKeys.of(arena, keys);
      LibRados.rados_write_op_omap_rm_keys2(op, names.pointers(), names.lengths(), keys.size());
      return this;
    }
  }

  /** Removes all omap keys ({@code rados_write_op_omap_clear}). */
  public WriteOperation omapClear() {
    LibRados.rados_write_op_omap_clear(ownPointer());
    return this;
  }

  /**
   * Fails the operation with ECANCELED unless the omap key has this value ({@code
   * rados_write_op_omap_cmp}). An absent key counts as empty: comparing with an empty value asks
   * that the key is absent. The object must exist, at this step at the latest.
   */
  public WriteOperation omapCompare(String key, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_omap_cmp(
          op, arena.cString(key), LibRados.CMP_EQ, arena.bytes(value), value.length, 0);
      return this;
    }
  }

  /** Calls a method of an object class that writes ({@code rados_write_op_exec}). */
  public WriteOperation exec(String objectClass, String method, byte[] input) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_exec(
          op,
          arena.cString(objectClass),
          arena.cString(method),
          arena.bytes(input),
          input.length,
          0);
      return this;
    }
  }
}
