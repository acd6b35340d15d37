package io.cephcsi.driver.testing;

import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Users of a test cluster that a test makes for itself. */
public final class CephUsers {
  private CephUsers() {}

  /** Makes users that may read what the monitors have, and write objects. */
  public static void make(TestCluster cluster, String key, List<String> users) {
    StringBuilder keyring = new StringBuilder();
    for (String user : users) {
      keyring.append(
          "[client.%s]\nkey = %s\ncaps mon = \"allow r\"\ncaps osd = \"allow rw\"\n"
              .formatted(user, key));
    }
    try {
      Path file = Files.createTempFile("users", ".keyring");
      try {
        Files.writeString(file, keyring);
        cluster.ceph("auth", "import", "-i", file.toString());
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
