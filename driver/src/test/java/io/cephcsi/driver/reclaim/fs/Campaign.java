package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How much is tested: CEPH_CSI_TEST_CAMPAIGN=full for all of it, CEPH_CSI_TEST_SEED to repeat a
 * run. Both are read from the system properties first, then from the environment.
 */
final class Campaign {
  /** The seed of everything random; printed once. */
  static final long SEED = seed();

  private Campaign() {}

  static boolean full() {
    return "full".equals(setting("CEPH_CSI_TEST_CAMPAIGN"));
  }

  private static long seed() {
    String given = setting("CEPH_CSI_TEST_SEED");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println("CEPH_CSI_TEST_SEED=" + seed);
    return seed;
  }

  private static String setting(String name) {
    String property = System.getProperty(name);
    String variable = System.getenv(name);
    return property != null ? property : variable != null ? variable : "";
  }

  /** A new directory with a mount point {@code mnt} in it. */
  static Path makeDirectory() throws IOException {
    Path directory = Files.createTempDirectory("ceph-csi-fs");
    Files.createDirectory(directory.resolve("mnt"));
    return directory;
  }

  /** Removes the directory and what is in it; nothing is mounted there by now. */
  static void remove(Path directory) {
    Shell.run("rm", "-rf", "--one-file-system", directory.toString());
  }
}
