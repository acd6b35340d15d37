package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;

/** A folder for each test, with an image and a place to mount it. */
abstract class ImageCase {
  protected Path directory;
  protected Path image;
  protected Path mountPoint;

  @BeforeEach
  void makeDirectory() throws IOException {
    directory = Campaign.makeDirectory();
    image = directory.resolve("image");
    mountPoint = directory.resolve("mnt");
  }

  @AfterEach
  void removeDirectory() {
    Campaign.remove(directory);
  }

  /** What is done with a sample, which leaves its image behind. */
  interface Check {
    void run() throws IOException;
  }

  /** A test that says by which sample and seed it failed. */
  final DynamicTest test(Object sample, long seed, Check check) {
    return DynamicTest.dynamicTest(
        sample.toString(),
        () -> {
          try {
            check.run();
          } catch (AssertionError e) {
            throw new AssertionError(sample + ", seed " + seed + ": " + e.getMessage(), e);
          } finally {
            Files.deleteIfExists(image);
          }
        });
  }
}
