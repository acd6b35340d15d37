package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.rados.RadosCluster;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The file systems of a cluster, remembered for 10 seconds: they hardly ever change. One that is
 * not among them is asked for again. Safe for several threads.
 */
public final class KnownFileSystems {
  private static final Duration REMEMBERED = Duration.ofSeconds(10);

  private final Supplier<List<FileSystemInfo>> monitors;
  private final LongSupplier nanoTime;
  private volatile Known known = new Known(List.of(), 0);

  KnownFileSystems(RadosCluster cluster) {
    this(() -> MonitorQueries.fileSystems(cluster), System::nanoTime);
  }

  KnownFileSystems(Supplier<List<FileSystemInfo>> monitors, LongSupplier nanoTime) {
    this.monitors = monitors;
    this.nanoTime = nanoTime;
  }

  /**
   * A file system that the user may see; a round trip to the monitors, if it is not remembered.
   *
   * @return empty if there is none
   */
  public Optional<FileSystemInfo> find(Predicate<FileSystemInfo> wanted) {
    Known before = known;
    if (nanoTime.getAsLong() - before.atNanos < REMEMBERED.toNanos()) {
      Optional<FileSystemInfo> found = before.fileSystems.stream().filter(wanted).findFirst();
      if (found.isPresent()) {
        return found;
      }
    }
    return read().stream().filter(wanted).findFirst();
  }

  /** Forgets what is remembered, as when a pool of a file system is gone. */
  public void forget() {
    known = new Known(List.of(), 0);
  }

  private List<FileSystemInfo> read() {
    long now = nanoTime.getAsLong();
    List<FileSystemInfo> fileSystems = monitors.get();
    known = new Known(fileSystems, now);
    return fileSystems;
  }

  private record Known(List<FileSystemInfo> fileSystems, long atNanos) {}
}
