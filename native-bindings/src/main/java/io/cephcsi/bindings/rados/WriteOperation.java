package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import java.util.Collection;
import java.util.Map;

/**
 * A compound write on one object ({@code rados_write_op_t}): its steps happen in order and all
 * together, or not at all.
 *
 * <p>Built by one thread; carried out by {@link IoContext#operate(String, WriteOperation)}. The
 * arguments are copied as the steps are added. An operation is carried out once: librados gives its
 * steps away.
 */
public final class WriteOperation extends NativeHandle {
  private boolean versionAsserted;
  private boolean carriedOut;

  /** An empty operation. */
  public WriteOperation() {
    super("write operation", null, LibRados.rados_create_write_op(), false);
  }

  @Override
  protected void destroy(long pointer) {
    LibRados.rados_release_write_op(pointer);
  }

  /**
   * Begins carrying the steps out; ended by {@link #exit()}.
   *
   * @throws IllegalStateException the second time: librados has given the steps away, and would do
   *     nothing and say that it succeeded
   */
  long enterOnce() {
    long op = enter();
    if (carriedOut) {
      exit();
      throw new IllegalStateException("the write operation was carried out already");
    }
    carriedOut = true;
    return op;
  }

  boolean assertsVersion() {
    return versionAsserted;
  }

  /** Fails the operation with ENOENT unless the object exists. */
  public WriteOperation assertExists() {
    LibRados.rados_write_op_assert_exists(ownPointer());
    return this;
  }

  /**
   * Fails the operation with {@link StaleVersionException} unless the object has this version, as
   * {@link IoContext#lastVersion()} gave it.
   */
  public WriteOperation assertVersion(long version) {
    LibRados.rados_write_op_assert_version(ownPointer(), version);
    versionAsserted = true;
    return this;
  }

  /** Creates the object, or fails the operation with EEXIST. */
  public WriteOperation createExclusive() {
    return create(1);
  }

  /** Creates the object unless it exists. */
  public WriteOperation create() {
    return create(0);
  }

  private WriteOperation create(int exclusive) {
    LibRados.rados_write_op_create(ownPointer(), exclusive, 0);
    return this;
  }

  /** Writes at an offset in bytes. */
  public WriteOperation write(long offset, byte[] data) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_write(op, arena.bytes(data), data.length, offset);
      return this;
    }
  }

  /** Replaces the object's data. */
  public WriteOperation writeFull(byte[] data) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_write_full(op, arena.bytes(data), data.length);
      return this;
    }
  }

  /** Cuts or extends the object to a size in bytes. */
  public WriteOperation truncate(long size) {
    LibRados.rados_write_op_truncate(ownPointer(), size);
    return this;
  }

  /** Removes the object. */
  public WriteOperation remove() {
    LibRados.rados_write_op_remove(ownPointer());
    return this;
  }

  /** Sets an extended attribute. */
  public WriteOperation setXattr(String name, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_setxattr(op, arena.cString(name), arena.bytes(value), value.length);
      return this;
    }
  }

  /** Removes an extended attribute. */
  public WriteOperation removeXattr(String name) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_rmxattr(op, arena.cString(name));
      return this;
    }
  }

  /** Fails the operation with ECANCELED unless the attribute has this value. */
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

  /** Sets one omap key. */
  public WriteOperation omapSet(String key, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      long keys = arena.cell(arena.cString(key));
      long values = arena.cell(arena.bytes(value));
      LibRados.rados_write_op_omap_set(op, keys, values, arena.cell(value.length), 1);
      return this;
    }
  }

  /** Sets omap keys; others stay. */
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

  /** Removes omap keys; keys that are absent do not matter. */
  public WriteOperation omapRemove(Collection<String> keys) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      OmapKeys names = OmapKeys.of(arena, keys);
      LibRados.rados_write_op_omap_rm_keys2(op, names.pointers(), names.lengths(), keys.size());
      return this;
    }
  }

  /** Removes all omap keys. */
  public WriteOperation omapClear() {
    LibRados.rados_write_op_omap_clear(ownPointer());
    return this;
  }

  /**
   * Fails the operation with ECANCELED unless the omap key has this value. An absent key counts as
   * empty: comparing with an empty value asks that the key is absent. The object must exist, at
   * this step at the latest.
   */
  public WriteOperation omapCompare(String key, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_write_op_omap_cmp(
          op, arena.cString(key), LibRados.CMP_EQ, arena.bytes(value), value.length, 0);
      return this;
    }
  }

  /** Calls a method of an object class that writes. */
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
