package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.nio.file.Path;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** The cluster that is measured, and its pool {@code rbd}. */
@State(Scope.Benchmark)
@SuppressWarnings("NullAway.Init") // JMH calls connect first
public class ClusterState {
  RadosCluster cluster;
  IoContext io;

  /** Connects. */
  @Setup(Level.Trial)
  public void connect() {
    connect(BenchCluster.conf());
  }

  void connect(Path conf) {
    cluster = RadosCluster.connect(ConnectionSettings.user("admin").configFile(conf).build());
    io = cluster.openPool("rbd", "benchmarks");
  }

  /** Disconnects. */
  @TearDown(Level.Trial)
  public void disconnect() {
    io.close();
    cluster.close();
  }
}
