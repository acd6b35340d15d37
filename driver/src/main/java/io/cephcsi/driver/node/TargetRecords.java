package io.cephcsi.driver.node;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;

/**
 * Which volume this driver shows at each target: written before a target is made, removed after it.
 * A file for each, in a directory that only this driver writes to. Safe for several threads, for
 * one target each.
 */
final class TargetRecords {
  private final Path folder;

  /**
   * @param folder on this machine; it is made when it is needed
   */
  TargetRecords(Path folder) {
    this.folder = folder;
  }

  /** The identifier of the volume; empty when this driver shows none there. */
  Optional<String> find(Path target) {
    try {
      return Optional.of(new String(Files.readAllBytes(file(target)), UTF_8))
          .filter(id -> !id.isEmpty());
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void put(Path target, String volumeId) {
    try {
      Files.createDirectories(folder);
      Files.writeString(file(target), volumeId);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void remove(Path target) {
    try {
      Files.deleteIfExists(file(target));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path file(Path target) {
    return folder.resolve(UUID.nameUUIDFromBytes(target.toString().getBytes(UTF_8)).toString());
  }
}
