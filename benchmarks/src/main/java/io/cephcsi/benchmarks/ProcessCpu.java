package io.cephcsi.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The CPU that a process has used, in the kernel's ticks. */
final class ProcessCpu {
  static final double MILLIS_PER_TICK = 10; // USER_HZ of Linux on x86-64 and arm64

  private ProcessCpu() {}

  /** User and system time of all threads, also of those that ended. */
  static long ticks(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
  }
}
