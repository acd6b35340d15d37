package io.cephcsi.bindings.cephfs;

import java.util.OptionalLong;

/**
 * Quota and usage of a directory with all that is below it, as the MDS knows them: usage lags
 * behind writes by some seconds.
 *
 * @param quotaBytes how many bytes of files may be in it; empty without a quota
 * @param quotaFiles how many files and directories may be in it; empty without a quota
 * @param bytes of all files ({@code ceph.dir.rbytes})
 * @param files how many files ({@code ceph.dir.rfiles})
 * @param directories how many directories, itself among them ({@code ceph.dir.rsubdirs})
 */
public record DirectoryUsage(
    OptionalLong quotaBytes, OptionalLong quotaFiles, long bytes, long files, long directories) {
  static final String QUOTA_BYTES = "ceph.quota.max_bytes";
  static final String QUOTA_FILES = "ceph.quota.max_files";

  static DirectoryUsage read(CephFsMount mount, String path) {
    return new DirectoryUsage(
        quota(mount, path, QUOTA_BYTES),
        quota(mount, path, QUOTA_FILES),
        number(mount, path, "ceph.dir.rbytes").orElse(0),
        number(mount, path, "ceph.dir.rfiles").orElse(0),
        number(mount, path, "ceph.dir.rsubdirs").orElse(0));
  }

  private static OptionalLong quota(CephFsMount mount, String path, String name) {
    OptionalLong quota = number(mount, path, name);
    return quota.isPresent() && quota.getAsLong() > 0 ? quota : OptionalLong.empty();
  }

  private static OptionalLong number(CephFsMount mount, String path, String name) {
    return mount.attributeText(path, name).stream().mapToLong(Long::parseLong).findFirst();
  }
}
