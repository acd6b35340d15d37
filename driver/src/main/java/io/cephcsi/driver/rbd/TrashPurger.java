package io.cephcsi.driver.rbd;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdPool;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Empties the trash of deleted images: by a task of the manager, which survives the driver, or
 * itself where the manager cannot.
 *
 * <p>Commands to the manager have no timeout in librados; they run on threads of their own, and
 * after one that was not answered the manager is left alone for a while.
 */
final class TrashPurger implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TrashPurger.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration SILENCE = Duration.ofMinutes(1);

  private final ThreadPoolExecutor commands =
      new ThreadPoolExecutor(
          4, 4, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(100), TrashPurger::thread);
  private volatile long silentUntilNanos = System.nanoTime();

  TrashPurger() {
    commands.allowCoreThreadTimeOut(true);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "mgr-command");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Removes an image from the trash, now or soon. When this returns, the removal is done or
   * recorded on the cluster.
   */
  void purge(RbdPool pool, String imageId) {
    if (!addTask(pool.io(), imageId)) {
      try {
        pool.removeFromTrash(imageId, true, Progress.NONE);
      } catch (CephException.NotFound e) {
        LOG.debug("image {} is out of the trash already", imageId);
      }
    }
  }

  private boolean addTask(IoContext io, String imageId) {
    if (System.nanoTime() - silentUntilNanos < 0) {
      return false;
    }
    try {
      Future<?> command = commands.submit(() -> io.cluster().mgrCommand(command(io, imageId)));
      command.get(COMMAND_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException | RejectedExecutionException e) {
      silentUntilNanos = System.nanoTime() + SILENCE.toNanos();
      LOG.warn("the manager does not answer; images are removed by the driver for {}", SILENCE);
      return false;
    } catch (ExecutionException e) {
      // Not allowed, or a manager without the module rbd_support.
      LOG.info("no manager task for image {}: {}", imageId, String.valueOf(e.getCause()));
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static String command(IoContext io, String imageId) {
    String space = io.namespace().isEmpty() ? "" : io.namespace() + "/";
    try {
      return JSON.writeValueAsString(
          Map.of(
              "prefix",
              "rbd task add trash remove",
              "image_id_spec",
              io.pool() + "/" + space + imageId,
              "format",
              "json"));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of strings is always JSON", e);
    }
  }

  @Override
  public void close() {
    commands.shutdownNow();
  }
}
