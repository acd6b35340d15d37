/*
 * Baseline for the list of a directory's snapshots. Usage: snapshots CONF FILE_SYSTEM DIRECTORY; reads lines "list N", lists the
 * names so often, and prints the nanoseconds that it took.
 */
#define _FILE_OFFSET_BITS 64
#include "baseline.h"

#include <cephfs/libcephfs.h>

static void list(struct ceph_mount_info *mount, const char *path) {
  struct ceph_dir_result *directory;
  char names[16384];
  int bytes;
  check(ceph_opendir(mount, path, &directory), "ceph_opendir");
  while ((bytes = ceph_getdnames(mount, directory, names, sizeof names)) > 0) {
  }
  check(bytes, "ceph_getdnames");
  check(ceph_closedir(mount, directory), "ceph_closedir");
}

int main(int argc, char **argv) {
  struct ceph_mount_info *mount;
  char what[16], path[4096];
  long count;
  if (argc != 4) {
    fprintf(stderr, "usage: snapshots CONF FILE_SYSTEM DIRECTORY\n");
    return 2;
  }
  check(ceph_create(&mount, "admin"), "ceph_create");
  check(ceph_conf_read_file(mount, argv[1]), "ceph_conf_read_file");
  check(ceph_select_filesystem(mount, argv[2]), "ceph_select_filesystem");
  check(ceph_mount(mount, "/"), "ceph_mount");
  snprintf(path, sizeof path, "%s/.snap", argv[3]);
  while (scanf("%15s %ld", what, &count) == 2) {
    long long start = now();
    for (long i = 0; i < count; i++) {
      list(mount, path);
    }
    printf("%lld\n", now() - start);
    fflush(stdout);
  }
  ceph_unmount(mount);
  ceph_release(mount);
  return 0;
}
