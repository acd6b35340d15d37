/*
 * Baseline for the reference tracker: compound writes as a tracker's, and the sequence of ceph-csi.
 * Usage: tracker CONF POOL NAMESPACE SNAPSHOT_ID; makes the snapshot's tracker with its own reference,
 * reads lines "write N" or "sequence N", does so many operations (an even number), adding and removing
 * another reference in turn, and prints the nanoseconds that they took. At the end of its input it
 * removes the tracker. Others may change the tracker meanwhile and leave it as it was.
 */
#include "baseline.h"

#include <rados/librados.h>

#define VERSION_XATTR "csi.ceph.com/rt-version"

static const char *key = "csi-vol-11111111-2222-3333-4444-555555555555";
static const char *own;
static rados_ioctx_t io;
static char object[256];

static void set_count(rados_write_op_t op, unsigned count) {
  char data[4] = {count >> 24, count >> 16, count >> 8, count};
  rados_write_op_write_full(op, data, sizeof data);
}

static void create(void) {
  const char *keys[] = {own}, *values[] = {"\1"};
  size_t key_length = strlen(own), value_length = 1;
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
  rados_write_op_setxattr(op, VERSION_XATTR, "\0\0\0\1", 4);
  rados_write_op_omap_set2(op, keys, values, &key_length, &value_length, 1);
  set_count(op, 1);
  check(rados_write_op_operate(op, io, object, NULL, 0), "create");
  rados_release_write_op(op);
}

/* Adds the key when it is absent, removes it when it is there: as one change of a tracker. */
static uint64_t change(uint64_t version, int present) {
  const char *keys[] = {key}, *values[] = {"\1"};
  size_t key_length = strlen(key), value_length = 1;
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_assert_version(op, version);
  if (present) {
    rados_write_op_omap_rm_keys2(op, keys, &key_length, 1);
  } else {
    rados_write_op_omap_set2(op, keys, values, &key_length, &value_length, 1);
  }
  set_count(op, present ? 1 : 2);
  check(rados_write_op_operate(op, io, object, NULL, 0), "write");
  rados_release_write_op(op);
  return rados_get_last_version(io);
}

/* What ceph-csi does before each change: an attribute, then a compound read. */
static uint64_t look(void) {
  char version[4], count[4];
  const char *keys[] = {own, key};
  size_t lengths[] = {strlen(own), strlen(key)}, got;
  rados_omap_iter_t found;
  int read_code, omap_code;
  check(rados_getxattr(io, object, VERSION_XATTR, version, sizeof version), "getxattr");
  rados_read_op_t op = rados_create_read_op();
  rados_read_op_read(op, 0, sizeof count, count, &got, &read_code);
  rados_read_op_omap_get_vals_by_keys2(op, keys, 2, lengths, &found, &omap_code);
  check(rados_read_op_operate(op, io, object, 0), "read");
  rados_omap_get_end(found);
  rados_release_read_op(op);
  return rados_get_last_version(io);
}

int main(int argc, char **argv) {
  rados_t cluster;
  char what[16];
  long count;
  if (argc != 5) {
    fprintf(stderr, "usage: tracker CONF POOL NAMESPACE SNAPSHOT_ID\n");
    return 2;
  }
  check(rados_create(&cluster, "admin"), "rados_create");
  check(rados_conf_read_file(cluster, argv[1]), "rados_conf_read_file");
  check(rados_conf_set(cluster, "rados_osd_op_timeout", "30"), "timeout"); /* as the driver */
  check(rados_connect(cluster), "rados_connect");
  check(rados_ioctx_create(cluster, argv[2], &io), "rados_ioctx_create");
  rados_ioctx_set_namespace(io, argv[3]);
  own = argv[4];
  snprintf(object, sizeof object, "rt-backingsnapshot-%s", own);
  create();
  int present = 0;
  while (scanf("%15s %ld", what, &count) == 2) {
    int looks = strcmp(what, "sequence") == 0;
    uint64_t version = look();
    long long start = now();
    for (long i = 0; i < count; i++) {
      if (looks) {
        version = look();
      }
      version = change(version, present);
      present = !present;
    }
    printf("%lld\n", now() - start);
    fflush(stdout);
  }
  check(rados_remove(io, object), "remove");
  rados_ioctx_destroy(io);
  rados_shutdown(cluster);
  return 0;
}
