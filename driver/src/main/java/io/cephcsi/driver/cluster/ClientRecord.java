package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.RecordedClient.Kind;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The clients of clusters that this process has open, in a {@link ClientFile} beside its socket, so
 * that the next process there can end those of one that was killed. See {@code
 * docs/decisions/killed-drivers.md}. Safe for several threads; writes a local file.
 */
public final class ClientRecord implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClientRecord.class);
  private static final int MAX_DEAD = 1000; // of each kind
  private static final int ATTEMPTS = 10; // a process that was killed ends in a moment
  private static final long PAUSE_MILLIS = 50;

  /** Clusters give dead clients up within minutes, and a kernel what it sends for them. */
  private static final Duration CLIENTS_KEPT = Duration.ofHours(1);

  private static final Duration RESERVATIONS_KEPT = Duration.ofDays(1);

  private final Set<RecordedClient> own = new LinkedHashSet<>();
  private final Set<RecordedClient> dead = new LinkedHashSet<>();
  private final Set<RecordedClient> taken = new HashSet<>(); // of the dead
  private final LongSupplier nanoTime;
  private final long begunNanos;
  private @Nullable ClientFile file;

  private ClientRecord(@Nullable ClientFile file, LongSupplier nanoTime) {
    this.file = file;
    this.nanoTime = nanoTime;
    this.begunNanos = nanoTime.getAsLong();
  }

  /** Of a process that records nothing, and ends nobody's clients. */
  public static ClientRecord none() {
    return new ClientRecord(null, System::nanoTime);
  }

  /**
   * Opens the record of a process; waits half a second for another that has it. One that cannot be
   * had is only logged: then clients of a killed process end when the cluster finds out.
   *
   * @param path a file of its own, in a folder that exists
   */
  public static ClientRecord at(Path path) {
    return at(path, System::nanoTime);
  }

  static ClientRecord at(Path path, LongSupplier nanoTime) {
    try {
      Optional<ClientFile> file = ClientFile.open(path);
      for (int i = 0; file.isEmpty() && i < ATTEMPTS; i++) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS));
        file = ClientFile.open(path);
      }
      if (file.isEmpty()) {
        LOG.warn("another process has {}: the clients of this one are not recorded", path);
      }
      ClientRecord record = new ClientRecord(file.orElse(null), nanoTime);
      file.ifPresent(found -> record.inherit(found.found()));
      return record;
    } catch (IOException e) {
      LOG.warn("{} cannot be had, so clients are not recorded: {}", path, e.getMessage());
      return none();
    }
  }

  private synchronized void inherit(List<String> lines) {
    List<RecordedClient> all =
        lines.stream().flatMap(line -> RecordedClient.parse(line).stream()).toList();
    for (Kind kind : Kind.values()) {
      all.stream().filter(client -> client.kind() == kind).limit(MAX_DEAD).forEach(dead::add);
    }
    write();
  }

  /** Records a connection, until what is returned is closed. */
  Entry connection(RadosCluster cluster) {
    return add(cluster, Kind.ADDRESS, List.of(cluster.addresses()));
  }

  /** Records the session of a mount, before it is opened, until what is returned is closed. */
  Entry session(RadosCluster cluster, String fileSystem, String root, String session) {
    return add(cluster, Kind.SESSION, List.of(fileSystem, root, session));
  }

  /** Records a reservation that has no answer yet, until what is returned is closed. */
  Entry reservation(RadosCluster cluster, LateReservation reservation) {
    return add(cluster, Kind.RESERVATION, reservation.texts());
  }

  private synchronized Entry add(RadosCluster cluster, Kind kind, List<String> names) {
    if (file == null) {
      return () -> {};
    }
    Optional<RecordedClient> client = RecordedClient.of(cluster, file.identity(), kind, names);
    client.ifPresent(own::add);
    write();
    return () -> client.ifPresent(this::remove);
  }

  private synchronized void remove(RecordedClient client) {
    if (own.remove(client)) {
      write();
    }
  }

  /**
   * Forgets what is so old that ending it would change nothing, as of a cluster that nobody
   * connects to any more.
   */
  private void forgetOld() {
    long age = nanoTime.getAsLong() - begunNanos;
    dead.removeIf(
        client ->
            age > (client.kind() == Kind.RESERVATION ? RESERVATIONS_KEPT : CLIENTS_KEPT).toNanos());
  }

  private void write() {
    if (file == null) {
      return;
    }
    forgetOld();
    try {
      // Clients come first: they are read even if there are more reservations than fit.
      file.write(
          Stream.of(dead, own)
              .flatMap(Collection::stream)
              .sorted(Comparator.comparing(RecordedClient::kind))
              .map(RecordedClient::line)
              .toList());
    } catch (IOException e) {
      LOG.warn("the clients of this process are not recorded: {}", e.toString());
    }
  }

  /** Whether a process that was killed left clients that nobody has ended. */
  public synchronized boolean hasDead() {
    return !dead.isEmpty();
  }

  /**
   * Takes the clients of a process that was killed which belong to the user of a connection, and
   * that nobody has taken. Those whose line nobody with this user's key wrote are left out.
   * Addresses come first. Whoever takes one ends it, or gives it back: to end a session may take
   * until the metadata servers answer, and must not be begun by each new connection. Reservations
   * are not kept from others: {@link LateReservations} looks at each once.
   */
  synchronized List<RecordedClient> take(RadosCluster cluster) {
    if (file == null) {
      return List.of();
    }
    String identity = file.identity();
    List<RecordedClient> proven = new ArrayList<>(dead);
    proven.removeIf(client -> taken.contains(client) || !client.isProven(cluster, identity));
    proven.sort((a, b) -> a.kind().compareTo(b.kind()));
    proven.stream()
        .filter(client -> client.kind() != RecordedClient.Kind.RESERVATION)
        .forEach(taken::add);
    return proven;
  }

  /** Takes one that was given back; false if another has taken or ended it meanwhile. */
  synchronized boolean take(RecordedClient client) {
    return dead.contains(client) && taken.add(client);
  }

  /** Gives back one that was taken and is not ended; does nothing if it is. */
  synchronized void giveBack(RecordedClient client) {
    taken.remove(client);
  }

  /** Forgets a client of a process that was killed, which has been ended. */
  synchronized void ended(RecordedClient client) {
    taken.remove(client);
    if (dead.remove(client)) {
      write();
    }
  }

  /**
   * Removes the file and gives its lock back. While clients of this process are open, as a cluster
   * does not answer, both stay until the process ends.
   */
  @Override
  public synchronized void close() {
    if (file == null || !own.isEmpty()) {
      return;
    }
    forgetOld();
    try (ClientFile closed = file) {
      if (dead.isEmpty()) {
        closed.remove();
      }
    } catch (IOException e) {
      LOG.warn("the record of clients cannot be removed: {}", e.toString());
    }
    file = null;
  }

  /** A client that is recorded; to be closed after it. */
  interface Entry extends AutoCloseable {
    @Override
    void close();
  }
}
