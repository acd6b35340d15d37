package io.cephcsi.driver.volume;

import java.util.Map;
import java.util.Optional;

/**
 * Lists of volumes and snapshots, and their condition. Changes nothing, locks nothing. All calls
 * block on the cluster. Safe for several threads.
 */
public interface Inventory {
  /**
   * Lists volumes.
   *
   * @param maxEntries how many at most; 0 for as many as an answer can hold
   * @param token where to go on; empty to begin
   * @throws VolumeException ABORTED when the token is not good
   */
  ListPage<ListedVolume> volumes(int maxEntries, String token);

  /**
   * Lists snapshots.
   *
   * @param source only those of this volume; empty for all
   * @param secrets of the request; they decide what is listed, unless they are empty
   * @param maxEntries how many at most; 0 for as many as an answer can hold
   * @param token where to go on; empty to begin
   * @throws VolumeException ABORTED when the token is not good
   */
  ListPage<ListedSnapshot> snapshots(
      Optional<VolumeId> source, Map<String, String> secrets, int maxEntries, String token);

  /**
   * One snapshot; empty if it does not exist.
   *
   * @param secrets of the request; may be empty
   */
  Optional<ListedSnapshot> snapshot(VolumeId id, Map<String, String> secrets);

  /**
   * One volume.
   *
   * @throws VolumeException NOT_FOUND if it does not exist; one whose data are gone does, and that
   *     is its problem
   */
  ListedVolume volume(VolumeId id);
}
