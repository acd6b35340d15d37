package io.cephcsi.driver.node.cephfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.node.machine.Sysfs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.UUID;

/**
 * Where each volume is staged on this node: what a mount of CephFS does not tell. A file for each,
 * in a directory that only this driver writes to. Safe for several threads, for one volume each.
 */
final class StagingRecords {
  private static final String FILES = "????????-????-????-????-????????????";

  private final Path folder;

  /**
   * @param folder on this machine; it is made when it is needed
   */
  StagingRecords(Path folder) {
    this.folder = folder;
  }

  /** Where a volume was staged last, whether or not it is still mounted there. */
  Optional<Path> find(String volumeId) {
    return read(file(volumeId));
  }

  /** Whether a volume was staged at a path. */
  boolean has(Path stagingPath) {
    return Sysfs.in(folder, FILES).stream()
        .anyMatch(file -> read(file).filter(stagingPath::equals).isPresent());
  }

  /** Whether another volume, and not this one, was staged at a path. */
  boolean isOfAnother(String volumeId, Path stagingPath) {
    return find(volumeId).filter(stagingPath::equals).isEmpty() && has(stagingPath);
  }

  /** Writes it, whole or not at all; nothing if it is written down already. */
  void put(String volumeId, Path stagingPath) {
    if (find(volumeId).filter(stagingPath::equals).isPresent()) {
      return;
    }
    Path file = file(volumeId);
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    try {
      Files.createDirectories(folder);
      Files.writeString(fresh, stagingPath.toString());
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Forgets a volume, unless it was staged at another path. */
  void remove(String volumeId, Path stagingPath) {
    if (find(volumeId).filter(path -> !path.equals(stagingPath)).isEmpty()) {
      try {
        Files.deleteIfExists(file(volumeId));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private Path file(String volumeId) {
    return folder.resolve(UUID.nameUUIDFromBytes(volumeId.getBytes(UTF_8)).toString());
  }

  private static Optional<Path> read(Path file) {
    try {
      return Optional.of(new String(Files.readAllBytes(file), UTF_8))
          .filter(path -> !path.isEmpty()) // an older version was stopped as it wrote
          .map(Path::of);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
