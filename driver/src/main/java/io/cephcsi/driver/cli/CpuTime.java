package io.cephcsi.driver.cli;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * The CPU that processes have had by now, in clock ticks.
 *
 * @param self this process
 * @param daemons the OSDs of this machine, by process id
 */
record CpuTime(long self, Map<String, Long> daemons) {
  private static final double TICKS_PER_SECOND = 100; // USER_HZ of Linux on x86-64 and arm64
  private static final String OSD = "ceph-osd";

  static CpuTime now() throws IOException {
    Map<String, Long> daemons = new HashMap<>();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
      for (Path process : processes) {
        try {
          String stat = Files.readString(process.resolve("stat"));
          if (stat.contains("(" + OSD + ")")) {
            daemons.put(process.getFileName().toString(), ticks(stat));
          }
        } catch (IOException e) {
          // It has ended.
        }
      }
    }
    return new CpuTime(ticks(Files.readString(Path.of("/proc/self/stat"))), daemons);
  }

  private static long ticks(String stat) {
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    return Long.parseLong(fields[11]) + Long.parseLong(fields[12]); // utime, stime
  }

  /** Seconds of this process since. */
  double own(CpuTime before) {
    return (self - before.self) / TICKS_PER_SECOND;
  }

  /** Seconds of the OSDs of this machine since; empty if there are none. */
  OptionalDouble osds(CpuTime before) {
    return daemons.isEmpty()
        ? OptionalDouble.empty()
        : OptionalDouble.of(
            daemons.entrySet().stream()
                    .mapToLong(
                        one -> one.getValue() - before.daemons.getOrDefault(one.getKey(), 0L))
                    .sum()
                / TICKS_PER_SECOND);
  }
}
