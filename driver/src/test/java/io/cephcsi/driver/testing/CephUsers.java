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

  /**
   * The key of a user, made if need be, who may ask the monitors and read no pool that there is.
   * Without any capability for objects, the clients of Ceph 20 wait for a ticket without end.
   */
  public static String keyOfNoPool(TestCluster cluster, String user) {
    return cluster
        .ceph(
            "auth",
            "get-or-create-key",
            "client." + user,
            "mon",
            "allow r",
            "osd",
            "allow r pool=nobody-has-this-one")
        .strip();
  }

  /**
   * Makes a user of the file system, who may ask the monitors and use the manager. Its keyring is
   * beside ceph.conf, where {@link TestCluster#key} reads it.
   *
   * @param osd its capability for objects
   * @param mds its capability for directories
   */
  public static void makeCephFs(TestCluster cluster, String user, String osd, String mds) {
    String keyring =
        cluster.ceph(
            "auth",
            "get-or-create",
            "client." + user,
            "mon",
            "allow r",
            "mgr",
            "allow rw",
            "osd",
            osd,
            "mds",
            mds);
    try {
      Files.writeString(keyring(cluster, user), keyring);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Removes such a user, if it is there. */
  public static void removeCephFs(TestCluster cluster, String user) {
    cluster.ceph("auth", "rm", "client." + user);
    try {
      Files.deleteIfExists(keyring(cluster, user));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path keyring(TestCluster cluster, String user) {
    return cluster.conf().resolveSibling("client." + user + ".keyring");
  }
}
