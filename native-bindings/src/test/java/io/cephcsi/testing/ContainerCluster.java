package io.cephcsi.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A cluster in the ceph/demo container, on the host's network: librados must reach the addresses
 * that the monitors announce.
 */
final class ContainerCluster extends TestCluster {
  private static final String IMAGE = "quay.io/ceph/demo:latest-quincy";

  private final GenericContainer<?> container;
  private final Path folder;

  private ContainerCluster(GenericContainer<?> container, Path folder) {
    this.container = container;
    this.folder = folder;
  }

  @SuppressWarnings("resource") // closed by close() or, with the JVM, by Testcontainers
  static ContainerCluster up() {
    String image = System.getenv().getOrDefault("CEPH_DEMO_IMAGE", IMAGE);
    GenericContainer<?> container =
        new GenericContainer<>(DockerImageName.parse(image))
            .withNetworkMode("host")
            .withEnv("MON_IP", "127.0.0.1")
            .withEnv("CEPH_PUBLIC_NETWORK", "127.0.0.0/8")
            .withEnv("CEPH_DEMO_UID", "demo")
            .withEnv("DEMO_DAEMONS", "mon,mgr,osd,mds")
            .waitingFor(
                Wait.forSuccessfulCommand("ceph -s --connect-timeout 5")
                    .withStartupTimeout(Duration.ofMinutes(5)));
    container.start();
    try {
      Path folder = Files.createTempDirectory("ceph-demo");
      for (String file : new String[] {"ceph.conf", "ceph.client.admin.keyring"}) {
        container.copyFileFromContainer("/etc/ceph/" + file, folder.resolve(file).toString());
      }
      Files.writeString(
          folder.resolve("ceph.conf"),
          Files.readString(folder.resolve("ceph.conf"))
              + "\n[client]\nkeyring = "
              + folder.resolve("ceph.client.admin.keyring")
              + "\n");
      ContainerCluster cluster = new ContainerCluster(container, folder);
      cluster.createPools();
      return cluster;
    } catch (IOException e) {
      container.stop();
      throw new UncheckedIOException(e);
    }
  }

  private void createPools() {
    for (String pool : new String[] {"rbd", "rbd2", "rbd-data"}) {
      ceph("osd", "pool", "create", pool, "8");
      rbd("pool", "init", pool);
    }
  }

  @Override
  public Path conf() {
    return folder.resolve("ceph.conf");
  }

  @Override
  public String monitors() {
    return "127.0.0.1";
  }

  @Override
  public String rbdUser() {
    return "admin";
  }

  @Override
  protected Path keyring(String user) {
    return folder.resolve("ceph.client." + user + ".keyring");
  }

  @Override
  public void close() {
    container.stop();
  }
}
