/*
 * Baseline for the trim: discards objects of an image with a bounded number in flight, under its lock.
 * Usage: discards CONF POOL IMAGE IN_FLIGHT [OFFSETS]; prints objects, seconds, discards per second.
 * OFFSETS is a file of numbers, one for each object; without it all objects are discarded.
 */
#include "baseline.h"

#include <inttypes.h>
#include <rbd/librbd.h>

/* Reads the offsets, or makes those of all objects. */
static uint64_t *offsets(const char *file, const rbd_image_info_t *info, uint64_t *count) {
  uint64_t capacity = info->num_objs, *all = calloc(capacity + 1, sizeof *all);
  FILE *in;
  if (!file) {
    for (*count = 0; *count < capacity; ++*count) {
      all[*count] = *count * info->obj_size;
    }
    return all;
  }
  in = fopen(file, "r");
  if (!in) {
    perror(file);
    exit(1);
  }
  for (*count = 0; *count < capacity && fscanf(in, "%" SCNu64, &all[*count]) == 1; ++*count) {
  }
  fclose(in);
  return all;
}

int main(int argc, char **argv) {
  rados_t cluster;
  rados_ioctx_t io;
  rbd_image_t image;
  rbd_image_info_t info;
  if (argc != 5 && argc != 6) {
    fprintf(stderr, "usage: discards CONF POOL IMAGE IN_FLIGHT [OFFSETS]\n");
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
  uint64_t count, *at = offsets(argc == 6 ? argv[5] : NULL, &info, &count);
  long long start = now();
  for (uint64_t i = 0; i < count + depth; i++) {
    rbd_completion_t *slot = &ring[i % depth];
    if (i >= (uint64_t)depth && *slot) {
      rbd_aio_wait_for_complete(*slot);
      check(rbd_aio_get_return_value(*slot), "discard");
      rbd_aio_release(*slot);
      *slot = NULL;
    }
    if (i < count) {
      check(rbd_aio_create_completion(NULL, NULL, slot), "rbd_aio_create_completion");
      check(rbd_aio_discard(image, at[i], info.obj_size, *slot), "rbd_aio_discard");
    }
  }
  check(rbd_flush(image), "rbd_flush");
  double seconds = (now() - start) / 1e9;
  printf("%llu %.3f %.0f\n", (unsigned long long)count, seconds, count / seconds);
  rbd_lock_release(image);
  rbd_close(image);
  rados_ioctx_destroy(io);
  rados_shutdown(cluster);
  return 0;
}
