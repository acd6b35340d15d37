package io.cephcsi.driver.reclaim;

import static io.cephcsi.driver.reclaim.ClusterLoad.Limits.USUAL;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ImageDirectory;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageName;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Estimates what trims of the images of a pool would free, from metadata alone: nothing is changed
 * and no lock is taken. A bounded number of images is looked at, at once and in a second, and none
 * while the cluster is busy with itself ({@link ClusterLoad}). Names, ids and all that the images
 * hold may have been forged: what is wrong with one image is the answer for this image.
 *
 * <p>The trash is not looked at. Used by one thread; blocks on the cluster.
 */
public final class PoolEstimator {
  /** The word for images that cannot be looked at. */
  public static final String UNREADABLE = "unreadable";

  private static final int PATIENCE = 5; // times without an answer

  private final IoContext io;
  private final ReclaimPlan plan;
  private final int atOnce;
  private final int perSecond;
  private final AtomicInteger timeouts = new AtomicInteger();

  /**
   * @param io the pool and namespace
   * @param plan how the images would be trimmed
   * @param atOnce how many images are looked at, at once
   * @param perSecond how many in a second at most; 0 for no bound
   */
  public PoolEstimator(IoContext io, ReclaimPlan plan, int atOnce, int perSecond) {
    this.io = io;
    this.plan = plan;
    this.atOnce = atOnce;
    this.perSecond = perSecond;
  }

  /**
   * Looks at the images, or at a part of them when it is told to stop.
   *
   * @param known whether the image with an id need not be looked at
   * @param found told of each image, by several threads
   * @return whether all were looked at, and the cluster answered each time
   * @throws CephException when the pool cannot be listed, or the cluster does not answer
   */
  public boolean run(Operation operation, Predicate<String> known, Consumer<ImageEstimate> found) {
    operation.phase("estimate");
    List<ImageName> images = images(found);
    AtomicInteger done = new AtomicInteger();
    AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
    ExecutorService executor =
        Executors.newFixedThreadPool(atOnce, DaemonThreads.named("reclaim-estimate"));
    Semaphore free = new Semaphore(atOnce);
    try (ClusterHealth health = ClusterHealth.watch(io.cluster(), USUAL.poll())) {
      ClusterLoad load = new ClusterLoad(health, operation, USUAL);
      Throttle pace = new Throttle(perSecond, load);
      for (ImageName image : images) {
        if (known.test(image.id())) {
          done.incrementAndGet();
          continue;
        }
        pace.worked(1, operation::isCancelled);
        free.acquireUninterruptibly();
        if (operation.isCancelled() || failure.get() != null) {
          free.release();
          break;
        }
        executor.execute(
            () -> {
              try {
                ImageEstimate estimate = estimate(image, operation::isCancelled);
                if (operation.isCancelled()) {
                  return; // it may have been ended early
                }
                found.accept(estimate);
                operation.progress(done.incrementAndGet(), images.size());
              } catch (RuntimeException e) {
                failure.compareAndSet(null, e);
              } finally {
                free.release();
              }
            });
      }
      free.acquireUninterruptibly(atOnce); // what was begun uses the connection
    } finally {
      executor.shutdown();
    }
    RuntimeException failed = failure.get();
    if (failed != null) {
      throw failed;
    }
    return done.get() == images.size() && timeouts.get() == 0;
  }

  /** The images by id: two names of one id are one image. */
  private List<ImageName> images(Consumer<ImageEstimate> found) {
    Map<String, ImageName> images = new LinkedHashMap<>();
    boolean all =
        ImageDirectory.walk(
            io,
            (name, id) -> {
              if (ImageId.isPossible(id)) {
                images.putIfAbsent(id, new ImageName(id, name));
              } else {
                found.accept(unreadable("", name, "its id in the pool's directory is damaged"));
              }
            });
    if (!all) {
      found.accept(
          unreadable("", "", "a key of the pool's directory keeps what follows from being read"));
    }
    return List.copyOf(images.values());
  }

  private ImageEstimate estimate(ImageName name, BooleanSupplier stop) {
    try {
      // librbd opens all ancestors, and what is read may be a parent's.
      AncestryCheck.require(io, name.id());
      try (RbdImage image = new RbdPool(io).openByIdReadOnly(name.id())) {
        return new ImageEstimate(name.id(), name.name(), TrimEstimate.of(image, plan, stop));
      }
    } catch (CephException.TimedOut e) {
      if (timeouts.incrementAndGet() >= PATIENCE) {
        throw e;
      }
      return unreadable(name.id(), name.name(), String.valueOf(e.getMessage()));
    } catch (CephException.Blocklisted e) {
      throw e; // it is not the image
    } catch (CephException | VolumeException | UncheckedIOException e) {
      return unreadable(name.id(), name.name(), String.valueOf(e.getMessage()));
    } catch (RuntimeException e) {
      return unreadable(name.id(), name.name(), e.toString());
    }
  }

  private static ImageEstimate unreadable(String id, String name, String why) {
    return new ImageEstimate(id, name, TrimReport.skipped(UNREADABLE, why, ""));
  }
}
