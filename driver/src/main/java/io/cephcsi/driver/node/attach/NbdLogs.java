package io.cephcsi.driver.node.attach;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.node.attach.NbdLog.Strategy;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Set;
import java.util.UUID;
import java.util.zip.GZIPOutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The logs of rbd-nbd. While a volume is staged its log is in a folder that only root can enter:
 * the folder that it goes to in the end may be another user's, such as {@code /var/log/ceph}, who
 * could put a link there that a program of root's would write through. What is kept is copied to a
 * new file, whose folder is reached without following links. Safe for several threads, one for a
 * volume.
 */
public final class NbdLogs {
  private static final Logger LOG = LoggerFactory.getLogger(NbdLogs.class);
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
  private static final String PREFIX = "rbd-nbd-";
  private static final String SUFFIX = ".log";

  /** Of a volume's name: 255 bytes of a file's, without what is put before and behind it. */
  private static final int LONGEST = 223;

  private final Path folder;
  private final Clock clock;

  /**
   * @param folder of the driver alone; it is made when it is needed
   */
  public NbdLogs(Path folder) {
    this(folder, Clock.systemUTC());
  }

  NbdLogs(Path folder, Clock clock) {
    this.folder = folder;
    this.clock = clock;
  }

  /**
   * The file that rbd-nbd is to write for a volume.
   *
   * @param volume the name of the volume, which can be a file's
   * @throws VolumeException FAILED_PRECONDITION when the log is to be kept in a folder that is not
   *     there, or that only links lead to
   */
  public Path begin(String volume, NbdLog log) {
    if (log.strategy() != Strategy.REMOVE) {
      try (SecureDirectoryStream<Path> found = open(log.directory())) {
        LOG.debug("the log of {} goes to {} ({})", volume, log.directory(), found);
      } catch (IOException e) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            NbdLog.DIRECTORY
                + " "
                + log.directory()
                + " is no folder on this node, or only a link leads to it: "
                + e.getMessage(),
            e);
      }
    }
    try {
      if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
        Files.createDirectories(folder, mine("rwx------"));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return file(volume);
  }

  /** Of a name that is too long for a file's the log has a digest. */
  private Path file(String volume) {
    byte[] bytes = volume.getBytes(UTF_8);
    String name = bytes.length > LONGEST ? UUID.nameUUIDFromBytes(bytes).toString() : volume;
    return folder.resolve(PREFIX + name + SUFFIX);
  }

  /**
   * Does with the log of a volume what is to be done when it has been detached; nothing where there
   * is no log. What cannot be kept stays where it is, with a warning.
   */
  public void end(String volume, NbdLog log) {
    Path written = file(volume);
    try {
      if (Files.exists(written, LinkOption.NOFOLLOW_LINKS)) {
        if (log.strategy() != Strategy.REMOVE) {
          keep(written, log);
        }
        Files.deleteIfExists(written);
      }
      Files.deleteIfExists(folder);
    } catch (DirectoryNotEmptyException e) {
      // other volumes have theirs
    } catch (IOException e) {
      LOG.warn(
          "volume {}: the log {} is not brought to {}: {}",
          volume,
          written,
          log.directory(),
          e.toString());
    }
  }

  private void keep(Path written, NbdLog log) throws IOException {
    boolean gzip = log.strategy() == Strategy.COMPRESS;
    String stem = String.valueOf(written.getFileName());
    stem = stem.substring(0, stem.length() - SUFFIX.length());
    String end = gzip ? SUFFIX + ".gz" : SUFFIX;
    try (SecureDirectoryStream<Path> directory = open(log.directory())) {
      SeekableByteChannel channel;
      try {
        channel = create(directory, stem + end);
      } catch (FileAlreadyExistsException e) {
        channel = create(directory, stem + "-" + TIME.format(clock.instant()) + end);
      }
      try (OutputStream file = Channels.newOutputStream(channel);
          OutputStream out = gzip ? new GZIPOutputStream(file) : file;
          InputStream in = Channels.newInputStream(Files.newByteChannel(written))) {
        in.transferTo(out);
      }
    }
  }

  private static SeekableByteChannel create(SecureDirectoryStream<Path> directory, String name)
      throws IOException {
    return directory.newByteChannel(
        Path.of(name),
        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS),
        mine("rw-r-----"));
  }

  /** Opens a folder, from the root on, and follows no link. */
  private static SecureDirectoryStream<Path> open(Path path) throws IOException {
    try (DirectoryStream<Path> root = Files.newDirectoryStream(Path.of("/"))) {
      return open((SecureDirectoryStream<Path>) root, path, 0); // Linux has these
    }
  }

  private static SecureDirectoryStream<Path> open(
      SecureDirectoryStream<Path> above, Path path, int depth) throws IOException {
    SecureDirectoryStream<Path> next =
        above.newDirectoryStream(path.getName(depth), LinkOption.NOFOLLOW_LINKS);
    if (depth + 1 == path.getNameCount()) {
      return next;
    }
    try (next) {
      return open(next, path, depth + 1);
    }
  }

  private static FileAttribute<?> mine(String permissions) {
    return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions));
  }
}
