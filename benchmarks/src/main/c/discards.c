/*
 * Baseline for the trim: discards every object of an image with a bounded number in flight.
 * Usage: discards CONF POOL IMAGE IN_FLIGHT; prints objects, seconds, discards per second.
 */
#include <rbd/librbd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(int code, const char *what) {
  if (code < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(-code));
    exit(1);
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  rados_t cluster;
  rados_ioctx_t io;
  rbd_image_t image;
  rbd_image_info_t info;
  if (argc != 5) {
    fprintf(stderr, "usage: discards CONF POOL IMAGE IN_FLIGHT\n");
    return 2;
  }
  check(rados_create(&cluster, "admin"), "rados_create");
  check(rados_conf_read_file(cluster, argv[1]), "rados_conf_read_file");
  check(rados_conf_set(cluster, "rbd_cache", "false"), "rados_conf_set");
  check(rados_connect(cluster), "rados_connect");
  check(rados_ioctx_create(cluster, argv[2], &io), "rados_ioctx_create");
  check(rbd_open(io, argv[3], &image, NULL), "rbd_open");
  check(rbd_stat(image, &info, sizeof info), "rbd_stat");
  check(rbd_lock_acquire(image, RBD_LOCK_MODE_EXCLUSIVE), "rbd_lock_acquire");
  int depth = atoi(argv[4]);
  rbd_completion_t *ring = calloc(depth, sizeof *ring);
  double start = now();
  for (uint64_t i = 0; i < info.num_objs + depth; i++) {
    rbd_completion_t *slot = &ring[i % depth];
    if (i >= (uint64_t)depth) {
      rbd_aio_wait_for_complete(*slot);
      check(rbd_aio_get_return_value(*slot), "discard");
      rbd_aio_release(*slot);
    }
    if (i < info.num_objs) {
      check(rbd_aio_create_completion(NULL, NULL, slot), "rbd_aio_create_completion");
      check(rbd_aio_discard(image, i * info.obj_size, info.obj_size, *slot), "rbd_aio_discard");
    }
  }
  check(rbd_flush(image), "rbd_flush");
  double seconds = now() - start;
  printf("%llu %.3f %.0f\n", (unsigned long long)info.num_objs, seconds, info.num_objs / seconds);
  rbd_lock_release(image);
  rbd_close(image);
  rados_ioctx_destroy(io);
  rados_shutdown(cluster);
  return 0;
}
