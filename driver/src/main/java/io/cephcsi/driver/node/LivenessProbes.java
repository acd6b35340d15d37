package io.cephcsi.driver.node;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.MountedFileSystem;
import io.cephcsi.driver.node.machine.Mount;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks file systems for their room without hanging on a dead one: the question is put on a thread
 * of its own, and while it has no answer, no second one is put to the same mount. Safe for several
 * threads.
 */
public final class LivenessProbes {
  private final Duration patience;
  private final Map<Integer, CompletableFuture<MountedFileSystem.Room>> asked =
      new ConcurrentHashMap<>();

  /**
   * @param patience how long a file system may take to answer
   */
  public LivenessProbes(Duration patience) {
    this.patience = patience;
  }

  /**
   * The room of a mounted file system.
   *
   * @return empty when it does not answer in time
   * @throws CephException when it answers that it is dead, such as ENOTCONN and EIO
   */
  public Optional<MountedFileSystem.Room> room(Mount mount) {
    CompletableFuture<MountedFileSystem.Room> answer =
        asked.computeIfAbsent(mount.id(), id -> ask(id, mount.target()));
    try {
      return Optional.of(answer.get(patience.toMillis(), TimeUnit.MILLISECONDS));
    } catch (TimeoutException e) {
      return Optional.empty();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof CephException failure) {
        throw failure;
      }
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  private CompletableFuture<MountedFileSystem.Room> ask(int id, Path path) {
    CompletableFuture<MountedFileSystem.Room> answer = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                MountedFileSystem fileSystem = new MountedFileSystem(path);
                fileSystem.ask(); // an evicted client of CephFS may still be told the room
                answer.complete(fileSystem.room());
              } catch (RuntimeException e) {
                answer.completeExceptionally(e);
              } finally {
                asked.remove(id, answer);
              }
            },
            "probe-" + path);
    thread.setDaemon(true);
    thread.start();
    return answer;
  }
}
