package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.DiffCallback;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.ProgressCallback;
import io.cephcsi.bindings.profile.LibrbdCall;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An open image ({@code rbd_image_t}); child of the {@link io.cephcsi.bindings.rados.IoContext}.
 *
 * <p>Safe for several threads, but {@link ImageSnapshots#setActive} changes what all of them see.
 *
 * <p>What the client that has the exclusive lock may have to do, is given up if it does not answer:
 * {@link CephException.OwnerSilent}. It is done later, or not; this image can be closed, which does
 * not wait for it.
 */
public final class RbdImage extends ImageProperties {
  private static final String OF_FORMAT_1 = "rb.";
  private static final int MOST_OPENINGS = 6;
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long SETTLING_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final RbdPool pool;
  private final boolean writable;
  private final long openedNanos = System.nanoTime();
  private @Nullable ReleaseGuard guard;
  private @Nullable OwnerCalls owner; // set with the guard

  private RbdImage(String path, RbdPool pool, boolean writable, long pointer) {
    super(path, pool.io(), pointer);
    this.pool = pool;
    this.writable = writable;
  }

  /** The pool that it was opened in. */
  public RbdPool pool() {
    return pool;
  }

  /** How its bytes lie in its objects; of the active snapshot if any. */
  public ImageLayout layout() {
    return new ImageLayout(size(), info().objectSize(), stripeUnit(), stripeCount());
  }

  /**
   * librbd opens all ancestors of an image with it, and says ENOENT of one that is gone as of the
   * image itself. They go while the image or they are flattened and removed: then it is opened
   * again, as its header names another or none by now.
   */
  static RbdImage open(RbdPool pool, Opening opening, String key, String snapshot) {
    String path = pool.describe(snapshot.isEmpty() ? key : key + "@" + snapshot);
    for (int tries = 1; ; tries++) {
      boolean last = tries == (snapshot.isEmpty() ? MOST_OPENINGS : 2);
      Optional<RbdImage> opened = open(pool, opening, key, snapshot, path, last);
      if (opened.isPresent()) {
        return opened.get();
      }
      if (!opening.exists(pool, key)) {
        check(-Errno.ENOENT.number(), opening.operation(), path);
      }
      LockSupport.parkNanos((tries - 1) * PAUSE_NANOS);
    }
  }

  /** Empty if librbd says ENOENT, unless it was asked for the last time. */
  private static Optional<RbdImage> open(
      RbdPool pool, Opening opening, String key, String snapshot, String path, boolean last) {
    return pool.io()
        .use(
            (io, arena) -> {
              long out = arena.cell(0);
              long at = snapshot.isEmpty() ? 0 : arena.cString(snapshot);
              int code =
                  pool.recorded(
                      LibrbdCall.begun(),
                      opening.call().open(io, arena.cString(key), out, at),
                      opening.operation(),
                      snapshot.isEmpty() ? key : key + "@" + snapshot);
              if (code == -Errno.ENOENT.number() && !last) {
                return Optional.empty();
              }
              check(code, opening.operation(), path);
              RbdImage image = new RbdImage(path, pool, opening.writes(), arena.getLong(out));
              return Optional.of(ready(image, opening.writes() && snapshot.isEmpty()));
            });
  }

  /**
   * Checks that its data are its own, by what librbd has read of the header and goes by.
   *
   * @param locks whether it may get the exclusive lock
   */
  private static RbdImage ready(RbdImage image, boolean locks) {
    try {
      if (locks) {
        String id = image.id();
        OwnerCalls calls = OwnerCalls.ofImage(image.pool, id);
        calls.requireAnswers("rbd_open", image.path());
        image.guard = ReleaseGuard.of(calls.place());
        image.owner = calls;
      }
      DataObjects data = new DataObjects(image.blockNamePrefix(), image.dataPoolId());
      boolean here = data.poolId() == image.pool.io().poolId();
      if (!here || !data.prefix().startsWith(OF_FORMAT_1)) {
        data.requireOf(image.pool, image.id());
      }
      return image;
    } catch (RuntimeException e) {
      image.close();
      throw e;
    }
  }

  /**
   * To close an image that is open for reading takes no request to the cluster, and librbd may be
   * done with it before the thread that completed the open goes on, which then uses what is freed
   * ({@code ImageState::complete_action_unlock}; seen to abort the process). Nobody else sees that
   * such an image stays open a moment longer.
   */
  @Override
  protected long nanosToLinger() {
    return writable ? 0 : openedNanos + SETTLING_NANOS - System.nanoTime();
  }

  /** The lock is given back when it is closed, which may wait for a snapshot without end. */
  @Override
  protected @Nullable Executor closer() {
    return owner == null ? null : owner::close;
  }

  /**
   * Closes the image in any case. A blocklisted client cannot remove its watcher, which is no
   * error; any other is thrown, as data that was not flushed may be lost.
   *
   * <p>The exclusive lock, if librbd took it, is given back first: closing with it, librbd aborts
   * the process when another client just then has it carry out a change, such as the removal of a
   * snapshot whose last clone goes ({@code ~AsyncOpTracker}, {@code CloseRequest}). To close costs
   * no more by that, as the lock is given back either way. No snapshot is taken by this process
   * meanwhile, see {@link ReleaseGuard}.
   */
  @Override
  protected void destroy(long pointer) {
    if (guard != null) {
      guard.alone(() -> release(pointer));
      guard.leave();
    }
    LibrbdCall event = LibrbdCall.begun();
    int code = LibRbd.rbd_close(pointer);
    if (event != null && pool != null) {
      recorded(event, code, "rbd_close", 0);
    }
    if (code != -Errno.ESHUTDOWN.number()) {
      check(code, "rbd_close", toString());
    }
  }

  /**
   * What fails, closing tells. The header is read before if it changed: a read that began before
   * the release, and ends after it began, is what librbd waits for in vain.
   */
  private static void release(long pointer) {
    try (NativeArena arena = NativeArena.open()) {
      LibRbd.rbd_get_features(pointer, arena.cell(0));
    }
    LibRbd.rbd_lock_release(pointer); // EINVAL if it is not held
  }

  /** Takes a snapshot of this image, which the owner of its lock may have to do. */
  void whileOwned(String operation, String object, Runnable snapshot) {
    ReleaseGuard held = guard;
    if (held == null) {
      snapshot.run();
    } else {
      change(operation, object, () -> held.whileOwned(snapshot));
    }
  }

  /** Changes this image, which the owner of its lock may have to do; see {@link OwnerCalls}. */
  void change(String operation, String object, Runnable call) {
    if (owner == null) {
      call.run();
    } else {
      owner.run(operation, object, call);
    }
  }

  /** As {@link #change}, of a call that takes its time and tells its progress. */
  private void changeTracked(String operation, Progress progress, ProgressCall.Tracked call) {
    if (owner == null) {
      callTracked(operation, progress, call);
    } else {
      owner.run(operation, path(), progress, heard -> callTracked(operation, heard, call));
    }
  }

  /**
   * Changes the size ({@code rbd_resize2}).
   *
   * @param size the new size in bytes
   * @param allowShrink whether data may be cut off; else a smaller size fails with EINVAL
   * @param progress cancelling a shrink leaves the old size with some of the objects gone
   */
  public void resize(long size, boolean allowShrink, Progress progress) {
    changeTracked(
        "rbd_resize2",
        progress,
        (image, arena, id) ->
            LibRbd.rbd_resize2(
                image, size, (byte) (allowShrink ? 1 : 0), ProgressCallback.INSTANCE, id));
  }

  /**
   * Copies what is still read from the parent, and detaches the image from it ({@code
   * rbd_flatten_with_progress}).
   *
   * @param progress cancelling keeps the parent; flattening again copies the rest
   * @throws CephException with EINVAL if the image has no parent
   */
  public void flatten(Progress progress) {
    changeTracked(
        "rbd_flatten_with_progress",
        progress,
        (image, arena, id) ->
            LibRbd.rbd_flatten_with_progress(image, ProgressCallback.INSTANCE, id));
  }

  /**
   * Switches features on or off ({@code rbd_update_features}); those that need one another must go
   * together, else EINVAL.
   */
  public void updateFeatures(Set<ImageFeature> features, boolean enabled) {
    long mask = ImageFeature.mask(features);
    call(
        "rbd_update_features",
        (image, arena) -> LibRbd.rbd_update_features(image, mask, (byte) (enabled ? 1 : 0)));
  }

  /** Rebuilds the object map by asking for every object ({@code rbd_rebuild_object_map}). */
  public void rebuildObjectMap(Progress progress) {
    callTracked(
        "rbd_rebuild_object_map",
        progress,
        (image, arena, id) -> LibRbd.rbd_rebuild_object_map(image, ProgressCallback.INSTANCE, id));
  }

  /**
   * Frees ranges of zeroes inside objects, and objects of zeroes ({@code
   * rbd_sparsify_with_progress}). A {@link #diff} shows only what was freed at the end of objects.
   *
   * @param sparseSize the shortest range that is freed, in bytes: a power of two from 4 KiB to the
   *     object size
   * @param progress cancelling stops it soon; what was freed stays freed
   */
  public void sparsify(long sparseSize, Progress progress) {
    callTracked(
        "rbd_sparsify_with_progress",
        progress,
        (image, arena, id) ->
            LibRbd.rbd_sparsify_with_progress(image, sparseSize, ProgressCallback.INSTANCE, id));
  }

  /**
   * Walks over what is allocated, or what changed ({@code rbd_diff_iterate2}), up to the active
   * snapshot or the head.
   *
   * <p>Without {@code fromSnapshot} an object that no snapshot shares counts from its beginning to
   * its end, also with {@code wholeObject} off: holes before its last data, such as {@link
   * #sparsify} makes, are not seen, though their space is free.
   *
   * @param fromSnapshot changes since this snapshot; empty for all that exists
   * @param offset where to begin, in bytes
   * @param length how many bytes to look at
   * @param includeParent whether what a clone reads from its parent counts
   * @param wholeObject whether objects count as a whole: quick with fast-diff; else every object is
   *     asked for its extents
   * @return false if the visitor ended the walk
   */
  public boolean diff(
      Optional<String> fromSnapshot,
      long offset,
      long length,
      boolean includeParent,
      boolean wholeObject,
      DiffVisitor visitor) {
    return use(
        (image, arena) -> {
          long from = fromSnapshot.isPresent() ? arena.cString(fromSnapshot.get()) : 0;
          return DiffIteration.run(
              visitor,
              path(),
              id ->
                  recorded(
                      LibrbdCall.begun(),
                      LibRbd.rbd_diff_iterate2(
                          image,
                          from,
                          offset,
                          length,
                          (byte) (includeParent ? 1 : 0),
                          (byte) (wholeObject ? 1 : 0),
                          DiffCallback.INSTANCE,
                          id),
                      "rbd_diff_iterate2",
                      length));
        });
  }

  /** The snapshots of this image. */
  public ImageSnapshots snapshots() {
    return new ImageSnapshots(this);
  }

  /** The key-value metadata of this image. */
  public ImageMetadata metadata() {
    return new ImageMetadata(this);
  }

  /** The mirroring of this image to other sites. */
  public ImageMirror mirror() {
    return new ImageMirror(this);
  }

  /** The exclusive lock of this image. */
  public ExclusiveLock lock() {
    return new ExclusiveLock(this);
  }

  /**
   * A way to open an image.
   *
   * @param call the function
   * @param operation its name
   * @param writes whether the image can be written then
   * @param object what the name of the object begins with that leads to the image
   */
  record Opening(OpenCall call, String operation, boolean writes, String object) {
    static final Opening BY_NAME = new Opening(LibRbd::rbd_open, "rbd_open", true, "rbd_id.");
    static final Opening BY_NAME_READ_ONLY =
        new Opening(LibRbd::rbd_open_read_only, "rbd_open_read_only", false, "rbd_id.");
    static final Opening BY_ID =
        new Opening(LibRbd::rbd_open_by_id, "rbd_open_by_id", true, "rbd_header.");
    static final Opening BY_ID_READ_ONLY =
        new Opening(
            LibRbd::rbd_open_by_id_read_only, "rbd_open_by_id_read_only", false, "rbd_header.");

    /** Whether there is an image of this name or id, as far as this can be seen. */
    private boolean exists(RbdPool pool, String key) {
      try {
        return pool.io().exists(object + key);
      } catch (CephException e) {
        return false;
      }
    }
  }

  /** A function that opens an image. */
  interface OpenCall {
    int open(long io, long key, long out, long snapshot);
  }
}
