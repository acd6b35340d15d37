package io.cephcsi.driver.cluster;

import java.util.List;

/**
 * A file system as the cluster's map describes it.
 *
 * @param id its id (fscid)
 * @param name its name
 * @param metadataPoolId the pool of its metadata, which holds the journal too
 * @param dataPoolIds the pools of its files, the default one first
 */
public record FileSystemInfo(long id, String name, long metadataPoolId, List<Long> dataPoolIds) {
  /** Copies the list. */
  public FileSystemInfo {
    dataPoolIds = List.copyOf(dataPoolIds);
  }
}
