package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.cephfs.CephFsSession;
import io.cephcsi.bindings.rados.RadosCluster;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A client of a cluster, as a line of a {@link ClientRecord}: kind, fsid, what tells it apart, and
 * a signature with the key of its user. Immutable.
 *
 * @param kind what it is
 * @param fsid the cluster
 * @param names of an {@link Kind#ADDRESS} that; of a {@link Kind#SESSION} the file system, the
 *     directory that is mounted, and the name of the session; of a {@link Kind#RESERVATION} its
 *     texts
 * @param signature proves that a client of this user wrote the line into that file
 */
record RecordedClient(Kind kind, String fsid, List<String> names, String signature) {
  /** As librbd does. */
  private static final Duration SHUT_OUT = Duration.ofHours(1);

  /** How a client is ended. */
  enum Kind {
    /** By its address, for which the user needs the right to blocklist. */
    ADDRESS(1),
    /** By the name of its session with the metadata servers. */
    SESSION(3),
    /** Not a client: a reservation that it sent, which {@link LateReservations} goes on with. */
    RESERVATION(LateReservation.TEXTS);

    private final int names;

    Kind(int names) {
      this.names = names;
    }
  }

  RecordedClient {
    names = List.copyOf(names);
  }

  /**
   * A client of this process.
   *
   * @param file the identity of the file that it is for
   * @return empty if the connection was given no key
   */
  static Optional<RecordedClient> of(
      RadosCluster cluster, String file, Kind kind, List<String> names) {
    RecordedClient unsigned = new RecordedClient(kind, cluster.fsid(), names, "");
    return KeyedSignature.of(cluster, unsigned.signed(file))
        .map(signature -> new RecordedClient(kind, unsigned.fsid, names, signature));
  }

  /** Reads a line; empty if it is none, such as one that was not written to its end. */
  static Optional<RecordedClient> parse(String line) {
    String[] words = line.split(" ", -1);
    Optional<Kind> kind =
        Stream.of(Kind.values()).filter(each -> each.name().equals(words[0])).findFirst();
    if (kind.isEmpty() || words.length != kind.get().names + 3) {
      return Optional.empty();
    }
    try {
      List<String> names =
          Arrays.stream(words, 2, words.length - 1)
              .map(word -> URLDecoder.decode(word, UTF_8))
              .toList();
      return Optional.of(new RecordedClient(kind.get(), words[1], names, words[words.length - 1]));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** The line. */
  String line() {
    return text() + " " + signature;
  }

  private String text() {
    return kind
        + " "
        + fsid
        + " "
        + names.stream()
            .map(name -> URLEncoder.encode(name, UTF_8))
            .collect(Collectors.joining(" "));
  }

  private String signed(String file) {
    return "csi.java.client " + file + " " + text();
  }

  /** Whether a client of a connection's user wrote it into a file. */
  boolean isProven(RadosCluster cluster, String file) {
    return fsid.equals(cluster.fsid())
        && KeyedSignature.proves(cluster, signed(file), signature)
        && (kind != Kind.ADDRESS || ClientFence.isClient(names.get(0)));
  }

  /**
   * Has the cluster refuse what this client still sent, and forget what it had open. Blocks; on a
   * session without a timeout.
   *
   * @param record of this process, for the session of its own that ending another takes
   * @throws io.cephcsi.bindings.error.CephException.Denied if the user may not do that
   */
  void end(RadosCluster cluster, ClientRecord record) {
    switch (kind) {
      case ADDRESS -> new ClientFence(cluster).blocklist(names.get(0), SHUT_OUT);
      case SESSION -> endSession(cluster, record, UUID.randomUUID().toString());
      case RESERVATION -> throw new IllegalStateException(this + " has no client to end");
    }
  }

  private void endSession(RadosCluster cluster, ClientRecord record, String own) {
    String fileSystem = names.get(0);
    String root = names.get(1);
    try (ClientRecord.Entry recorded = record.session(cluster, fileSystem, root, own)) {
      CephFsSession.end(cluster, fileSystem, root, names.get(2), own);
    }
  }

  /** For messages. */
  @Override
  public String toString() {
    return switch (kind) {
      case ADDRESS -> "client " + names.get(0);
      case SESSION -> "session " + names.get(2) + " of file system " + names.get(0);
      case RESERVATION -> "reservation " + names.get(3) + " in " + names.get(2);
    };
  }
}
