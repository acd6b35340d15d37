package io.cephcsi.bindings.cephfs;

import io.cephcsi.bindings.error.CephException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The snapshots of one directory, as entries of its hidden directory {@code .snap}. Changes nothing
 * by itself; safe for several threads.
 */
public final class DirectorySnapshots {
  /** The hidden directory, unless {@code client_snapdir} says otherwise. */
  public static final String FOLDER = ".snap";

  private static final Pattern UUID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  private static final String CREATED = "ceph.snap.btime";

  private final CephFsMount mount;
  private final String directory;

  DirectorySnapshots(CephFsMount mount, String directory) {
    this.mount = mount;
    this.directory = directory.equals("/") ? "" : directory;
  }

  /**
   * The names of the directory's own snapshots. Those of directories above it, which show here as
   * {@code _name_inode}, are left out.
   *
   * @throws CephException.NotFound if there is no such directory
   */
  public List<String> names() {
    return mount.names(directory + "/" + FOLDER).stream()
        .filter(name -> !name.startsWith("_"))
        .toList();
  }

  /** The path of a snapshot, whether it exists or not. */
  public String path(String snapshot) {
    return directory + "/" + FOLDER + "/" + snapshot;
  }

  /** Whether there is a snapshot of this name. */
  public boolean exists(String snapshot) {
    return mount.find(path(snapshot)).isPresent();
  }

  /** When a snapshot was taken; empty if there is none of this name. */
  public Optional<Instant> createdAt(String snapshot) {
    try {
      return mount.attributeText(path(snapshot), CREATED).map(DirectorySnapshots::time);
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** Seconds and nanoseconds with a point between. */
  private static Instant time(String text) {
    int point = text.indexOf('.');
    return point < 0
        ? Instant.ofEpochSecond(Long.parseLong(text))
        : Instant.ofEpochSecond(
            Long.parseLong(text.substring(0, point)), Long.parseLong(text.substring(point + 1)));
  }

  /**
   * The data in a snapshot of a subvolume: the directories in it whose names are uuids. There is
   * one; the manager gives each life of a subvolume a new one.
   *
   * @return their paths
   * @throws CephException.NotFound if there is no such snapshot
   */
  public List<String> contents(String snapshot) {
    return mount.names(path(snapshot)).stream()
        .filter(name -> UUID.matcher(name).matches())
        .map(name -> path(snapshot) + "/" + name)
        .toList();
  }
}
