package io.cephcsi.driver.campaign;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Network namespaces of this machine, one for each driver, with a link each to the cluster that can
 * be cut: packets are lost then, and no connection is refused. Who is not root has none: the
 * cluster and the drivers are on loopback then, and nothing is cut.
 */
final class Network implements AutoCloseable {
  private final String prefix = "cc" + ProcessHandle.current().pid();
  private final int third = (int) (ProcessHandle.current().pid() % 250);
  private final List<String> links = new ArrayList<>();
  private final boolean possible;

  /** Makes the cluster's address and a namespace for each driver. */
  Network(int drivers) {
    this.possible = System.getProperty("user.name").equals("root");
    if (!possible) {
      return;
    }
    run("ip", "addr", "add", address() + "/32", "dev", "lo");
    for (int i = 0; i < drivers; i++) {
      String link = prefix + "h" + i;
      String inside = prefix + "n" + i;
      String host = "10.231." + third + "." + (5 + 4 * i);
      String guest = "10.231." + third + "." + (6 + 4 * i);
      run("ip", "netns", "add", inside);
      run("ip", "link", "add", link, "type", "veth", "peer", "name", inside);
      run("ip", "link", "set", inside, "netns", inside);
      run("ip", "addr", "add", host + "/30", "dev", link);
      run("ip", "link", "set", link, "up");
      run("ip", "-n", inside, "addr", "add", guest + "/30", "dev", inside);
      run("ip", "-n", inside, "link", "set", inside, "up");
      run("ip", "-n", inside, "link", "set", "lo", "up");
      run("ip", "-n", inside, "route", "add", "default", "via", host);
      links.add(link);
    }
  }

  /** The address that the cluster has to listen on. */
  String address() {
    return possible ? "10.231." + third + ".1" : "127.0.0.1";
  }

  /** What starts a program in the namespace of a driver. */
  List<String> starter(int driver) {
    return possible ? List.of("ip", "netns", "exec", prefix + "n" + driver) : List.of();
  }

  /** Whether links can be cut. */
  boolean isPossible() {
    return possible;
  }

  /** Cuts the link of a driver. */
  void cut(int driver) {
    run("ip", "link", "set", links.get(driver), "down");
  }

  /** Makes it whole. */
  void join(int driver) {
    run("ip", "link", "set", links.get(driver), "up");
  }

  private static void run(String... command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      try (InputStream out = process.getInputStream()) {
        String text = new String(out.readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
          throw new IllegalStateException(String.join(" ", command) + ": " + text);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    if (!possible) {
      return;
    }
    for (int i = 0; i < links.size(); i++) {
      run("ip", "link", "del", links.get(i));
      run("ip", "netns", "del", prefix + "n" + i);
    }
    run("ip", "addr", "del", address() + "/32", "dev", "lo");
  }
}
