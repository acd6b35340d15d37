/* What all baselines need. */
#ifndef BASELINE_H
#define BASELINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ends the program when a call has failed. */
static void check(int code, const char *what) {
  if (code < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(-code));
    exit(1);
  }
}

/* In nanoseconds. */
static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#endif
