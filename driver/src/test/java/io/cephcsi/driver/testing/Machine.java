package io.cephcsi.driver.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Assumptions;

/**
 * A virtual machine (ci/vm) that runs test classes against a cluster of the host, for what this
 * machine's kernel cannot do.
 */
public final class Machine implements AutoCloseable {
  /** The only address of the host that the machine reaches. */
  private static final String ADDRESS = "127.77.0.1";

  private static final Duration LEARNING = Duration.ofMinutes(3);

  private final TestCluster cluster;
  private final Path folder;
  private final Path archive;
  private final String classPath;

  private Machine(TestCluster cluster, Path folder) throws IOException {
    this.cluster = cluster;
    this.folder = folder;
    archive = folder.resolve("classes.jsa");
    classPath = classPath(folder);
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
   * Runs test classes on this host, and keeps the classes that the JVM loaded for the machine,
   * where loading them takes a minute.
   *
   * @param tests as of {@link #run}
   */
  public void learn(List<String> tests) throws IOException, InterruptedException {
    List<String> command = java("-XX:ArchiveClassesAtExit=" + archive, tests);
    end(command, LEARNING);
    assertThat(archive).isNotEmptyFile();
  }

  /**
   * Runs test classes in a machine of their own; fails with what they printed unless all pass.
   *
   * @param tests as of {@link InMachine#main}
   * @return what was printed
   */
  public String run(Duration limit, List<String> tests) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(LocalCluster.root().resolve("ci/vm").toString());
    command.addAll(List.of("--memory", "2048", "--timeout", Long.toString(limit.toSeconds())));
    command.addAll(java("-XX:SharedArchiveFile=" + archive, tests));
    return end(command, limit.plusSeconds(60));
  }

  private List<String> java(String option, List<String> tests) {
    List<String> command = new ArrayList<>();
    command.add(ChildJvm.java());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", option));
    command.addAll(List.of("-cp", classPath, InMachine.class.getName()));
    command.addAll(tests);
    return command;
  }

  private String end(List<String> command, Duration limit)
      throws IOException, InterruptedException {
    Path output = Files.createTempFile(folder, "output", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().put("CEPH_TEST_PROVIDER", "external");
    builder.environment().put("CEPH_CONF", folder.resolve("ceph.conf").toString());
    Process process = builder.start();
    try {
      boolean ended = process.waitFor(limit.toSeconds(), TimeUnit.SECONDS);
      String printed = Files.readString(output);
      assertThat(ended).as("should end by itself: " + printed).isTrue();
      assertThat(process.exitValue()).as(printed).isZero();
      return printed;
    } finally {
      process.destroy();
    }
  }

  /** With folders packed into files: of those alone the JVM keeps classes. */
  private static String classPath(Path folder) throws IOException {
    ToolProvider jar = ToolProvider.findFirst("jar").orElseThrow();
    List<String> entries = new ArrayList<>();
    for (String entry :
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
            .split(File.pathSeparator, -1)) {
      if (Files.isDirectory(Path.of(entry))) {
        Path packed = Files.createTempFile(folder, "classes", ".jar");
        int code =
            jar.run(System.out, System.err, "-c", "-0", "-f", packed.toString(), "-C", entry, ".");
        assertThat(code).as("jar of " + entry).isZero();
        entries.add(packed.toString());
      } else {
        entries.add(entry);
      }
    }
    return String.join(File.pathSeparator, entries);
  }

  @Override
  public void close() {
    cluster.close();
  }
}
