package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.internal.OwnedMemory;
import io.cephcsi.bindings.rados.OmapReader.Large;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A compound read of one object ({@code rados_read_op_t}): all steps see the same version.
 *
 * <p>Each step gives a {@link Result}, filled by {@link IoContext#operate(String, ReadOperation)}
 * and valid after the operation is closed. Built and carried out by one thread, once.
 *
 * <p>A key or value has at most 64 KiB, and all results together 1 MiB, of which {@link #read} does
 * not count: a step that found more fails with {@link CephException.TooLarge}, before anything of
 * that is copied to the heap.
 */
public final class ReadOperation extends CompoundOperation {
  private final OwnedMemory memory;
  private final List<Result<?>> results;
  private final List<Runnable> iterators;
  private final ReadLimit limit = new ReadLimit();

  /** An empty operation. */
  public ReadOperation() {
    super("read operation", LibRados.rados_create_read_op());
    memory = new OwnedMemory();
    results = new ArrayList<>();
    iterators = new ArrayList<>();
  }

  @Override
  protected void destroy(long pointer) {
    LibRados.rados_release_read_op(pointer);
    iterators.forEach(Runnable::run);
    memory.close();
  }

  /**
   * Allows one value, and all results together, more bytes than usual.
   *
   * @param bytes how many
   */
  public ReadOperation allow(int bytes) {
    limit.raise(bytes);
    return this;
  }

  /**
   * Fails the operation with ENOENT unless the object exists ({@code rados_read_op_assert_exists}).
   */
  public ReadOperation assertExists() {
    LibRados.rados_read_op_assert_exists(ownPointer());
    return this;
  }

  /**
   * Fails the operation with {@link StaleVersionException} unless the object has this version
   * ({@code rados_read_op_assert_version}).
   */
  public ReadOperation assertVersion(long version) {
    LibRados.rados_read_op_assert_version(ownPointer(), version);
    markVersionAsserted();
    return this;
  }

  /**
   * Fails the operation with ECANCELED unless the omap key has this value ({@code
   * rados_read_op_omap_cmp2}).
   */
  public ReadOperation omapCompare(String key, byte[] value) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      LibRados.rados_read_op_omap_cmp2(
          op,
          arena.cString(key),
          LibRados.CMP_EQ,
          arena.bytes(value),
          NativeArena.utf8Length(key),
          value.length,
          0);
      return this;
    }
  }

  /**
   * Reads data ({@code rados_read_op_read}).
   *
   * @param offset in bytes
   * @param length how many bytes at most; may be 0
   * @return what is there; shorter at the object's end
   */
  public Result<byte[]> read(long offset, int length) {
    long op = ownPointer();
    long buffer = memory.allocate(length);
    long got = memory.allocate(Long.BYTES);
    long code = memory.allocate(Integer.BYTES);
    int wanted = Math.max(length, 1); // to the cluster, 0 means the whole object
    LibRados.rados_read_op_read(op, offset, wanted, buffer, got, code);
    return result(
        code, object -> NativeMemory.bytes(buffer, Math.min(NativeMemory.getLong(got), length)));
  }

  /** Size and age of the object ({@code rados_read_op_stat}). */
  public Result<ObjectStat> stat() {
    long op = ownPointer();
    long size = memory.allocate(Long.BYTES);
    long seconds = memory.allocate(Long.BYTES);
    long code = memory.allocate(Integer.BYTES);
    LibRados.rados_read_op_stat(op, size, seconds, code);
    return result(
        code,
        object ->
            new ObjectStat(
                NativeMemory.getLong(size), Instant.ofEpochSecond(NativeMemory.getLong(seconds))));
  }

  /** All extended attributes by name ({@code rados_read_op_getxattrs}). */
  public Result<Map<String, byte[]>> getXattrs() {
    long op = ownPointer();
    long iterator = iterator(LibRados::rados_getxattrs_end);
    long code = memory.allocate(Integer.BYTES);
    LibRados.rados_read_op_getxattrs(op, iterator, code);
    return result(code, object -> xattrs(NativeMemory.getLong(iterator), object));
  }

  /**
   * Omap keys and values in order ({@code rados_read_op_omap_get_vals2}).
   *
   * @param startAfter begin behind this key; empty to begin at the first
   * @param prefix only keys that begin so; empty for all
   * @param max how many at most; there may be fewer, also when the next one had no room
   */
  public Result<OmapPage> omapGetVals(String startAfter, String prefix, long max) {
    return omapGetVals(arena -> arena.cString(startAfter), prefix, max, Large.FAILS);
  }

  /**
   * As {@link #omapGetVals}, behind a key that may be no text, and with keys and values of any
   * size: instead of a value of more than 64 KiB, or of a longer key, comes an empty one, and such
   * a key is cut.
   *
   * @param last {@link OmapPage#last()} of the page before; empty to begin at the first
   */
  public Result<OmapPage> omapGetValsBehind(String last, String prefix, long max) {
    byte[] key = last.getBytes(ISO_8859_1);
    byte[] ended = Arrays.copyOf(key, key.length + 1); // by a zero
    return omapGetVals(arena -> arena.bytes(ended), prefix, max, Large.COMES_EMPTY);
  }

  private Result<OmapPage> omapGetVals(
      ToLongFunction<NativeArena> startAfter, String prefix, long max, Large large) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      long iterator = iterator(LibRados::rados_omap_get_end);
      long more = memory.allocate(1);
      long code = memory.allocate(Integer.BYTES);
      LibRados.rados_read_op_omap_get_vals2(
          op, startAfter.applyAsLong(arena), arena.cString(prefix), max, iterator, more, code);
      return result(
          code,
          object ->
              new OmapReader(limit, object, large)
                  .page(NativeMemory.getLong(iterator), NativeMemory.getByte(more) != 0));
    }
  }

  /**
   * The values of these omap keys ({@code rados_read_op_omap_get_vals_by_keys2}); keys that are
   * absent are left out.
   */
  public Result<Map<String, byte[]>> omapGetByKeys(Collection<String> keys) {
    return omapGetByKeys(keys, Large.FAILS);
  }

  /** As {@link #omapGetByKeys}; instead of a value that is too large comes an empty one. */
  public Result<Map<String, byte[]>> omapGetSmallByKeys(Collection<String> keys) {
    return omapGetByKeys(keys, Large.COMES_EMPTY);
  }

  private Result<Map<String, byte[]>> omapGetByKeys(Collection<String> keys, Large large) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      long iterator = iterator(LibRados::rados_omap_get_end);
      long code = memory.allocate(Integer.BYTES);
      OmapKeys names = OmapKeys.of(arena, keys);
      LibRados.rados_read_op_omap_get_vals_by_keys2(
          op, names.pointers(), keys.size(), names.lengths(), iterator, code);
      return result(
          code,
          object -> new OmapReader(limit, object, large).values(NativeMemory.getLong(iterator)));
    }
  }

  /** Calls a method of an object class that reads ({@code rados_read_op_exec}). */
  public Result<byte[]> exec(String objectClass, String method, byte[] input) {
    long op = ownPointer();
    try (NativeArena arena = NativeArena.open()) {
      long output = memory.allocate(Long.BYTES);
      long length = memory.allocate(Long.BYTES);
      long code = memory.allocate(Integer.BYTES);
      LibRados.rados_read_op_exec(
          op,
          arena.cString(objectClass),
          arena.cString(method),
          arena.bytes(input),
          input.length,
          output,
          length,
          code);
      iterators.add(() -> RadosBuffer.free(NativeMemory.getLong(output)));
      return result(
          code,
          object ->
              limit.output(NativeMemory.getLong(output), NativeMemory.getLong(length), object));
    }
  }

  /** A cell for an iterator that librados makes, freed with this operation. */
  private long iterator(LongConsumer end) {
    long cell = memory.allocate(Long.BYTES);
    iterators.add(
        () -> {
          long iterator = NativeMemory.getLong(cell);
          if (iterator != 0) {
            end.accept(iterator);
          }
        });
    return cell;
  }

  private <T> Result<T> result(long code, Function<String, T> decoder) {
    Result<T> result = new Result<>(code, decoder);
    results.add(result);
    return result;
  }

  /** Called with what the cluster answered. */
  void completed(int code, String object) {
    if (code < 0) {
      throw IoContext.failure(code, "rados_read_op_operate", object, assertsVersion());
    }
    results.forEach(result -> result.decode(object));
  }

  private Map<String, byte[]> xattrs(long iterator, String object) {
    Map<String, byte[]> values = new TreeMap<>();
    try (NativeArena arena = NativeArena.open()) {
      long name = arena.cell(0);
      long value = arena.cell(0);
      long length = arena.cell(0);
      while (true) {
        ReturnCode.check(
            LibRados.rados_getxattrs_next(iterator, name, value, length),
            "rados_getxattrs_next",
            object);
        if (arena.getLong(name) == 0) {
          return values;
        }
        String text = NativeMemory.cString(arena.getLong(name));
        long bytes = arena.getLong(length);
        if (limit.isLarge(bytes) || !limit.fits(bytes + text.length())) {
          throw limit.tooLarge(object, arena.getLong(name), text.length(), bytes);
        }
        limit.take(bytes + text.length());
        values.put(text, NativeMemory.bytes(arena.getLong(value), bytes));
      }
    }
  }

  /**
   * The result of one step.
   *
   * @param <T> what the step reads
   */
  public static final class Result<T> {
    private final long codeCell;
    private final Function<String, T> decoder;
    private @Nullable T value;
    private @Nullable RuntimeException failure;

    private Result(long codeCell, Function<String, T> decoder) {
      this.codeCell = codeCell;
      this.decoder = decoder;
    }

    private void decode(String object) {
      int code = NativeMemory.getInt(codeCell);
      if (code < 0) {
        failure = ReturnCode.exception(code, "rados_read_op_operate", object, "");
      } else {
        try {
          value = decoder.apply(object);
        } catch (CephException.TooLarge e) {
          failure = e;
        }
      }
    }

    /**
     * What the step read.
     *
     * @throws io.cephcsi.bindings.error.CephException if the step failed
     * @throws IllegalStateException if the operation was not carried out successfully
     */
    public T get() {
      if (failure != null) {
        throw failure;
      }
      T read = value;
      if (read == null) {
        throw new IllegalStateException("the read operation was not carried out");
      }
      return read;
    }
  }
}
