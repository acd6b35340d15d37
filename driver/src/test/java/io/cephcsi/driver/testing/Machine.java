package io.cephcsi.driver.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * A virtual machine (ci/vm) that runs test classes against a cluster of the host, for what this
 * machine's kernel cannot do.
 */
public final class Machine implements AutoCloseable {
  /** The only address of the host that the machine reaches. */
  private static final String ADDRESS = "127.77.0.1";

  private final TestCluster cluster;
  private final Path folder;

  private Machine(TestCluster cluster, Path folder) {
    this.cluster = cluster;
    this.folder = folder;
  }

  /** Starts the cluster. Other processors than x86-64 have no such machine. */
  public static Machine withCluster(String name) throws IOException {
    Assumptions.assumeTrue(System.getProperty("os.arch").equals("amd64"), "ci/vm is for x86-64");
    Assumptions.assumeTrue(TestCluster.canControl(), "the machine reaches clusters of ci/ceph");
    TestCluster cluster = TestCluster.start(name, "--address", ADDRESS);
    Path folder = Files.createTempDirectory("machine");
    // As an external cluster has them.
    Files.copy(cluster.conf(), folder.resolve("ceph.conf"));
    Files.copy(
        cluster.conf().resolveSibling("client.admin.keyring"),
        folder.resolve("ceph.client.admin.keyring"),
        StandardCopyOption.COPY_ATTRIBUTES);
    return new Machine(cluster, folder);
  }

  /** The cluster. */
  public TestCluster cluster() {
    return cluster;
  }

  /**
   * Runs test classes in a machine of their own; fails with what they printed unless all pass.
   *
   * @param properties of the JVM there, such as {@code -Dname=value}
   * @param tests names of classes, or class#method
   * @return what was printed
   */
  public String run(Duration limit, List<String> properties, List<String> tests)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(LocalCluster.root().resolve("ci/vm").toString());
    command.addAll(List.of("--memory", "2048", "--timeout", Long.toString(limit.toSeconds())));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"));
    command.addAll(properties);
    command.addAll(List.of("-cp", classPath(), InMachine.class.getName()));
    command.addAll(tests);
    Path output = Files.createTempFile(folder, "output", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().put("CEPH_TEST_PROVIDER", "external");
    builder.environment().put("CEPH_CONF", folder.resolve("ceph.conf").toString());
    Process process = builder.start();
    try {
      boolean ended = process.waitFor(limit.toSeconds() + 60, TimeUnit.SECONDS);
      String printed = Files.readString(output);
      assertThat(ended).as("ci/vm should end by itself: " + printed).isTrue();
      assertThat(process.exitValue()).as(printed).isZero();
      return printed;
    } finally {
      process.destroy();
    }
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  @Override
  public void close() {
    cluster.close();
  }
}
