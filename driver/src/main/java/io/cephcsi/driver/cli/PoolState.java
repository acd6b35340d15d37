package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.PoolPlan;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a run over a pool knows: the estimates, and what became of the images. Where it has a file,
 * what became of an image stands there before {@link #record} returns, whatever ends the process
 * then; several threads share a write. Beside it is {@code FILE.lock}, which keeps a second run
 * from the file. Safe for several threads.
 */
final class PoolState implements AutoCloseable {
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Optional<Path> file;
  private final @Nullable FileChannel locked;
  private final Map<String, String> run;
  private final Map<String, ImageEstimate> estimates = new LinkedHashMap<>();
  private final Map<String, PoolOutcome> outcomes = new LinkedHashMap<>();
  private final Object writing = new Object();
  private boolean estimated;
  private long changes;
  private long written;
  private long writtenNanos = System.nanoTime();

  private PoolState(Optional<Path> file, @Nullable FileChannel locked, Map<String, String> run) {
    this.file = file;
    this.locked = locked;
    this.run = run;
  }

  /**
   * Reads the state of a run, or begins one.
   *
   * @param file where it is kept; empty to keep it in memory only
   * @param run the cluster, pool and options, by the names to show: the file must be of the same
   * @throws ConfigException when the file is of another run, damaged, in use, or cannot be read
   */
  static PoolState open(Optional<Path> file, Map<String, String> run) {
    if (file.isEmpty()) {
      return new PoolState(file, null, run);
    }
    Path path = file.get().toAbsolutePath();
    FileChannel lock = lock(path);
    try {
      PoolState state = new PoolState(Optional.of(path), lock, run);
      if (Files.exists(path)) {
        PoolStateFile.Content content = PoolStateFile.read(path);
        PoolStateFile.requireSame(path, content.run(), run);
        state.estimated = content.estimated();
        content.images().forEach(image -> state.estimates.put(key(image), image));
        state.outcomes.putAll(content.outcomes());
      }
      lock = null;
      return state;
    } finally {
      close(lock);
    }
  }

  private static FileChannel lock(Path file) {
    Path path = file.resolveSibling(file.getFileName() + ".lock");
    FileChannel channel = null;
    try {
      channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      FileLock lock = channel.tryLock();
      if (lock != null) {
        FileChannel taken = channel;
        channel = null;
        return taken;
      }
    } catch (OverlappingFileLockException e) {
      // of this process
    } catch (IOException e) {
      throw new ConfigException(path + " cannot be written: " + e, e);
    } finally {
      close(channel);
    }
    throw new ConfigException(file + " is in use by another run");
  }

  private static void close(@Nullable FileChannel channel) {
    try (FileChannel closed = channel) {
      // nothing else to do
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Images whose id is damaged have none: their name tells them apart. */
  private static String key(ImageEstimate image) {
    return image.id().isEmpty() ? "/" + image.name() : image.id();
  }

  /** Whether all images are estimated: those that were made since are not looked at. */
  synchronized boolean isEstimated() {
    return estimated;
  }

  /** Whether an image need not be looked at: what was in use or unreadable is tried again. */
  synchronized boolean knows(String id) {
    ImageEstimate image = estimates.get(id);
    return image == null ? estimated : !image.isOfTheMoment();
  }

  /** Whether images are to be looked at: all that are not known, or some again. */
  synchronized boolean isToBeEstimated() {
    return !estimated || estimates.values().stream().anyMatch(ImageEstimate::isOfTheMoment);
  }

  /** Keeps an estimate; it stands in the file some seconds later. */
  void add(ImageEstimate image) {
    long now;
    synchronized (this) {
      estimates.put(key(image), image);
      now = ++changes;
    }
    synchronized (writing) {
      if (System.nanoTime() - writtenNanos < INTERVAL_NANOS) {
        return;
      }
    }
    write(now);
  }

  /** Ends the estimate. */
  void estimated() {
    long now;
    synchronized (this) {
      estimated = true;
      now = ++changes;
    }
    write(now);
  }

  /** Writes what is not in the file yet. */
  void save() {
    long now;
    synchronized (this) {
      now = changes;
    }
    write(now);
  }

  /** Keeps what became of an image. */
  void record(ImageEstimate image, PoolOutcome outcome) {
    long now;
    synchronized (this) {
      PoolOutcome earlier = outcomes.get(image.id());
      outcomes.put(image.id(), earlier == null ? outcome : outcome.after(earlier));
      now = ++changes;
    }
    write(now);
  }

  /** The estimates. */
  synchronized List<ImageEstimate> estimates() {
    return new ArrayList<>(estimates.values());
  }

  /** What became of an image; empty when it was not begun, or was interrupted. */
  synchronized Optional<PoolOutcome> outcome(ImageEstimate image) {
    return Optional.ofNullable(outcomes.get(image.id()));
  }

  /** How many bytes were discarded in all. */
  synchronized long discardedBytes() {
    return outcomes.values().stream()
        .mapToLong(PoolOutcome::discardedBytes)
        .reduce(0, PoolPlan::sum);
  }

  private void write(long wanted) {
    if (file.isEmpty()) {
      return;
    }
    synchronized (writing) {
      if (written >= wanted) {
        return; // another thread wrote it with what was its own
      }
      byte[] content;
      long now;
      synchronized (this) {
        now = changes;
        content = PoolStateFile.encode(run, estimated, estimates.values(), outcomes);
      }
      PoolStateFile.write(file.get(), content);
      written = now;
      writtenNanos = System.nanoTime();
    }
  }

  /** Lets other runs have the file. */
  @Override
  public void close() {
    close(locked);
  }
}
