/*
 * Baseline for operations of librados. Usage: operations CONF POOL; reads lines "WHAT N", does so many, and prints the
 * nanoseconds that they took. The objects are those of the driver: others would be in other placement groups, which are not
 * equally fast. WHAT is
 *   build   a compound write of a comparison, an omap key and an xattr is built and released
 *   write   a compound write that creates, sets an omap key and an xattr; one after the other
 *   async   the same, 16 in flight
 *   plain   a write of 16 bytes, without an operation
 */
#include "baseline.h"

#include <rados/librados.h>

#define IN_FLIGHT 16

static const char value[] = "0123456789abcdef";
static rados_ioctx_t io;

static void set(rados_write_op_t op, const char *key) {
  const char *keys[] = {key}, *values[] = {value};
  size_t key_length = strlen(key), value_length = sizeof value - 1;
  rados_write_op_omap_set2(op, keys, values, &key_length, &value_length, 1);
}

static void build(long count) {
  for (long i = 0; i < count; i++) {
    rados_write_op_t op = rados_create_write_op();
    int result;
    rados_write_op_omap_cmp2(op, "csi.volume.pvc-1", LIBRADOS_CMPXATTR_OP_EQ, value, 16, sizeof value - 1, &result);
    set(op, "csi.volume.pvc-2");
    rados_write_op_setxattr(op, "csi.ceph.com/rt-version", value, sizeof value - 1);
    rados_release_write_op(op);
  }
}

static rados_write_op_t operation(void) {
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, NULL);
  set(op, "key");
  rados_write_op_setxattr(op, "x", value, sizeof value - 1);
  return op;
}

static void write_all(long count) {
  for (long i = 0; i < count; i++) {
    rados_write_op_t op = operation();
    check(rados_write_op_operate(op, io, "bench-sync", NULL, 0), "write");
    rados_release_write_op(op);
  }
}

static void async(long count) {
  rados_completion_t ring[IN_FLIGHT] = {0};
  char object[32];
  for (long i = 0; i < count + IN_FLIGHT; i++) {
    rados_completion_t *slot = &ring[i % IN_FLIGHT];
    if (*slot) {
      rados_aio_wait_for_complete(*slot);
      check(rados_aio_get_return_value(*slot), "async");
      rados_aio_release(*slot);
      *slot = NULL;
    }
    if (i < count) {
      rados_write_op_t op = operation();
      snprintf(object, sizeof object, "bench-async-%ld", i % IN_FLIGHT);
      check(rados_aio_create_completion2(NULL, NULL, slot), "rados_aio_create_completion2");
      check(rados_aio_write_op_operate(op, io, *slot, object, NULL, 0), "rados_aio_write_op_operate");
      rados_release_write_op(op);
    }
  }
}

static void plain(long count) {
  for (long i = 0; i < count; i++) {
    check(rados_write(io, "bench-plain", value, sizeof value - 1, 0), "rados_write");
  }
}

int main(int argc, char **argv) {
  rados_t cluster;
  char what[16];
  long count;
  if (argc != 3) {
    fprintf(stderr, "usage: operations CONF POOL\n");
    return 2;
  }
  check(rados_create(&cluster, "admin"), "rados_create");
  check(rados_conf_read_file(cluster, argv[1]), "rados_conf_read_file");
  check(rados_conf_set(cluster, "rados_osd_op_timeout", "30"), "timeout"); /* as the driver */
  check(rados_connect(cluster), "rados_connect");
  check(rados_ioctx_create(cluster, argv[2], &io), "rados_ioctx_create");
  rados_ioctx_set_namespace(io, "benchmarks");
  while (scanf("%15s %ld", what, &count) == 2) {
    long long start = now();
    if (!strcmp(what, "build")) {
      build(count);
    } else if (!strcmp(what, "write")) {
      write_all(count);
    } else if (!strcmp(what, "async")) {
      async(count);
    } else if (!strcmp(what, "plain")) {
      plain(count);
    } else {
      fprintf(stderr, "unknown: %s\n", what);
      return 2;
    }
    printf("%lld\n", now() - start);
    fflush(stdout);
  }
  rados_ioctx_destroy(io);
  rados_shutdown(cluster);
  return 0;
}
