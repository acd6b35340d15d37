package io.cephcsi.driver.node.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.UUID;

/**
 * A secret in a file that only this user can read or change, for programs that take it from nowhere
 * else; in memory where the system has /dev/shm, and gone when this is closed. What a process
 * leaves that is killed, the next secret of the same name replaces, and {@link #clear} removes.
 */
public final class SecretFile implements AutoCloseable {
  private static final Path MEMORY = Path.of("/dev/shm");
  private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs");
  private static final int PERMISSIONS = 07777;
  private static final int MINE = 0700;

  private final Path path;

  private SecretFile(Path path) {
    this.path = path;
  }

  /** Writes what a file is to have. */
  @FunctionalInterface
  public interface Content {
    /** Writes it to a file that is new and empty. */
    void writeTo(SeekableByteChannel file) throws IOException;
  }

  /**
   * Writes a secret.
   *
   * @param folder see {@link #folder}; it is made when it is needed
   * @param name of what the secret is for
   */
  public static SecretFile of(Path folder, String name, String secret) {
    return of(
        folder,
        name,
        file -> {
          ByteBuffer bytes = ByteBuffer.wrap(secret.getBytes(UTF_8));
          while (bytes.hasRemaining()) {
            file.write(bytes);
          }
        });
  }

  /** As {@link #of(Path, String, String)}, of more than a text. */
  public static SecretFile of(Path folder, String name, Content content) {
    SecretFile result =
        new SecretFile(folder.resolve(UUID.nameUUIDFromBytes(name.getBytes(UTF_8)).toString()));
    try {
      make(folder);
      Files.deleteIfExists(result.path);
      try (SeekableByteChannel channel =
          Files.newByteChannel(
              result.path,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              mine("rw-------"))) {
        content.writeTo(channel);
      } catch (IOException | RuntimeException e) {
        result.close();
        throw e;
      }
      return result;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Where a driver has its secrets: in its own directory if that is in memory, else in /dev/shm.
   *
   * @param own a directory of the driver alone, which need not be there yet
   */
  public static Path folder(Path own) {
    Path absolute = own.toAbsolutePath().normalize();
    Path there = absolute;
    while (!Files.exists(there) && there.getParent() != null) {
      there = there.getParent();
    }
    return isInMemory(there) || !Files.isWritable(MEMORY)
        ? absolute.resolve("keys")
        : MEMORY.resolve("ceph-csi-" + UUID.nameUUIDFromBytes(absolute.toString().getBytes(UTF_8)));
  }

  /** Not as far as is known: a change of root leaves the mounts out that it is within. */
  private static boolean isInMemory(Path path) {
    try {
      return IN_MEMORY.contains(Files.getFileStore(path).type());
    } catch (IOException e) {
      return false;
    }
  }

  /** Removes what processes have left that were killed; not while another one is at work. */
  public static void clear(Path folder) {
    if (Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
      try {
        make(folder);
        for (Path left : Sysfs.in(folder, "*")) {
          Files.deleteIfExists(left);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Everybody may make files in /dev/shm: a directory there must be ours. */
  private static void make(Path folder) throws IOException {
    if (folder.getParent() != null) {
      Files.createDirectories(folder.getParent());
    }
    try {
      Files.createDirectory(folder, mine("rwx------"));
    } catch (FileAlreadyExistsException e) {
      int mode = (Integer) Files.getAttribute(folder, "unix:mode", LinkOption.NOFOLLOW_LINKS);
      Object owner = Files.getAttribute(folder, "unix:uid", LinkOption.NOFOLLOW_LINKS);
      if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
          || (mode & PERMISSIONS) != MINE
          || !owner.equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))) {
        throw new IOException(folder + " is not a directory of this user alone", e);
      }
    }
  }

  private static FileAttribute<?> mine(String permissions) {
    return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions));
  }

  /** Where it is. */
  public Path path() {
    return path;
  }

  @Override
  public void close() {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
