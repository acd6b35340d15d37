package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * A file that one process at a time has, with lines. The kernel gives the lock back when the
 * process has ended, and not before, also when it is stopped: so the process that gets the lock
 * knows that the one that wrote the lines is dead.
 *
 * <p>That holds for this very file in this run of this kernel, which the first line names: a copy
 * of the file, or one that another machine wrote on a shared or restored disk, proves nothing. Not
 * safe for several threads.
 */
final class ClientFile implements AutoCloseable {
  private static final String TITLE = "ceph-csi-java clients 1 ";
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
  private static final int MAX_BYTES = 1 << 20;

  /** Closing any other channel of a file would end the lock that this process has on it. */
  private static final Set<Path> OPEN = ConcurrentHashMap.newKeySet();

  private final Path path;
  private final FileChannel channel;
  private final String identity;
  private final List<String> found;

  private ClientFile(Path path, FileChannel channel) throws IOException {
    this.path = path;
    this.channel = channel;
    this.identity = identity(path);
    this.found = read();
  }

  /**
   * Opens a file and takes its lock.
   *
   * @return empty if another process has it, or this one
   * @throws IOException if the file cannot be opened, or is a link or no file
   */
  static Optional<ClientFile> open(Path file) throws IOException {
    Path folder = file.toAbsolutePath().getParent();
    if (folder == null || file.getFileName() == null) {
      throw new IOException(file + " is no file in a folder");
    }
    if (!Files.isDirectory(folder)) { // it may be a link to one
      Files.createDirectories(folder);
    }
    Path path = folder.toRealPath().resolve(file.getFileName());
    if (!OPEN.add(path)) {
      return Optional.empty();
    }
    Optional<ClientFile> locked = Optional.empty();
    try {
      locked = lock(path);
      return locked;
    } finally {
      if (locked.isEmpty()) {
        OPEN.remove(path);
      }
    }
  }

  private static Optional<ClientFile> lock(Path path) throws IOException {
    FileChannel channel = channel(path);
    Optional<ClientFile> locked = Optional.empty();
    try {
      if (channel.tryLock() != null) {
        locked = Optional.of(new ClientFile(path, channel));
      }
      return locked;
    } finally {
      if (locked.isEmpty()) {
        channel.close();
      }
    }
  }

  private static FileChannel channel(Path path) throws IOException {
    Set<OpenOption> options =
        Set.of(
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            LinkOption.NOFOLLOW_LINKS);
    FileChannel channel =
        FileChannel.open(
            path,
            options,
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
      channel.close();
      throw new IOException(path + " is not a file");
    }
    return channel;
  }

  private static String identity(Path path) throws IOException {
    return Files.readString(BOOT_ID).strip()
        + " "
        + Files.getAttribute(path, "unix:dev", LinkOption.NOFOLLOW_LINKS)
        + ":"
        + Files.getAttribute(path, "unix:ino", LinkOption.NOFOLLOW_LINKS);
  }

  private List<String> read() throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(channel.size(), MAX_BYTES));
    while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
      // until all is there
    }
    String text = new String(bytes.array(), 0, bytes.position(), UTF_8);
    List<String> lines = Arrays.asList(text.split("\n", -1));
    return lines.get(0).equals(TITLE + identity)
        ? List.copyOf(lines.subList(1, lines.size()))
        : List.of();
  }

  /** Names this file and the run of the kernel. */
  String identity() {
    return identity;
  }

  /** What the process wrote that had the file before, which is dead. */
  List<String> found() {
    return found;
  }

  /** Replaces all lines. A process that dies meanwhile may leave some of either, or parts. */
  void write(List<String> lines) throws IOException {
    String text =
        TITLE + identity + "\n" + lines.stream().map(l -> l + "\n").collect(Collectors.joining());
    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(UTF_8));
    long at = 0;
    while (bytes.hasRemaining()) {
      at += channel.write(bytes, at);
    }
    channel.truncate(at);
  }

  /** Removes the file, which stays locked until it is closed. */
  void remove() throws IOException {
    Files.deleteIfExists(path);
  }

  /** Gives the lock back. */
  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      OPEN.remove(path);
    }
  }
}
