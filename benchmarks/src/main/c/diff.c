/*
 * Baseline for the usage: walks over an image by rbd_diff_iterate2 several times.
 * Usage: diff CONF POOL IMAGE WHOLE_OBJECT ROUNDS; prints bytes and the median milliseconds.
 */
#include "baseline.h"

#include <rbd/librbd.h>

static int extent(uint64_t offset, size_t length, int exists, void *bytes) {
  (void)offset;
  if (exists) {
    *(uint64_t *)bytes += length;
  }
  return 0;
}

static int ascending(const void *a, const void *b) {
  double difference = *(const double *)a - *(const double *)b;
  return difference < 0 ? -1 : difference > 0;
}

int main(int argc, char **argv) {
  rados_t cluster;
  rados_ioctx_t io;
  rbd_image_t image;
  uint64_t size, bytes = 0;
  if (argc != 6) {
    fprintf(stderr, "usage: diff CONF POOL IMAGE WHOLE_OBJECT ROUNDS\n");
    return 2;
  }
  check(rados_create(&cluster, "admin"), "rados_create");
  check(rados_conf_read_file(cluster, argv[1]), "rados_conf_read_file");
  check(rados_connect(cluster), "rados_connect");
  check(rados_ioctx_create(cluster, argv[2], &io), "rados_ioctx_create");
  check(rbd_open_read_only(io, argv[3], &image, NULL), "rbd_open_read_only");
  check(rbd_get_size(image, &size), "rbd_get_size");
  int rounds = atoi(argv[5]);
  double *took = calloc(rounds, sizeof *took);
  for (int i = 0; i < rounds; i++) {
    bytes = 0;
    long long start = now();
    check(rbd_diff_iterate2(image, NULL, 0, size, 0, atoi(argv[4]), extent, &bytes), "rbd_diff_iterate2");
    took[i] = (now() - start) / 1e6;
  }
  qsort(took, rounds, sizeof *took, ascending);
  printf("%llu %.3f\n", (unsigned long long)bytes, took[rounds / 2]);
  rbd_close(image);
  rados_ioctx_destroy(io);
  rados_shutdown(cluster);
  return 0;
}
