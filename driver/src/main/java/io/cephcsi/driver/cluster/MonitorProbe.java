package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.VolumeException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out, without credentials, whether a cluster could be reached since the start: a monitor
 * that is alive sends a banner to each client. Once reached, it counts as reached for ever.
 */
public final class MonitorProbe implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MonitorProbe.class);
  private static final int TIMEOUT_MILLIS = 1500;
  private static final int RETRY_MILLIS = 1000;
  private static final byte[] BANNER = "ceph v".getBytes(StandardCharsets.US_ASCII);

  private final ClusterDirectory clusters;
  private final Thread thread;
  private volatile boolean reached;

  /** Looks for the clusters of a directory, once it is started. */
  public MonitorProbe(ClusterDirectory clusters) {
    this.clusters = clusters;
    this.thread = DaemonThreads.of("monitor-probe", this::tryUntilReached);
  }

  /** Starts looking, in the background; called once. */
  public void start() {
    thread.start();
  }

  /** Whether a monitor of a configured cluster answered; does not block. */
  public boolean reached() {
    return reached;
  }

  private void tryUntilReached() {
    try {
      while (!anyAnswers()) {
        Thread.sleep(RETRY_MILLIS);
      }
      reached = true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean anyAnswers() {
    try {
      for (ClusterConfig cluster : clusters.clusters().values()) {
        if (cluster.monitors().stream().anyMatch(MonitorProbe::answers)) {
          return true;
        }
      }
      LOG.debug("no monitor of a configured cluster answers yet");
    } catch (VolumeException e) {
      LOG.warn("{}", e.getMessage());
    }
    return false;
  }

  /** Whether a monitor answers at one of its addresses. */
  private static boolean answers(String monitor) {
    try {
      return MonitorAddress.parse(monitor).stream()
          .anyMatch(a -> a.ports().stream().anyMatch(port -> sendsBanner(a.host(), port)));
    } catch (IllegalArgumentException e) {
      LOG.warn("config.json: {}", e.getMessage());
      return false;
    }
  }

  private static boolean sendsBanner(String host, int port) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(host, port), TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS); // a frozen monitor accepts, but says nothing
      return Arrays.equals(socket.getInputStream().readNBytes(BANNER.length), BANNER);
    } catch (IOException | IllegalArgumentException e) {
      LOG.debug("monitor {}:{}: {}", host, port, e.toString());
      return false;
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
