package io.cephcsi.driver.campaign;

import io.cephcsi.driver.testing.OtherMachine;
import java.util.ArrayList;
import java.util.List;

/**
 * A machine for each driver, with a link each to the cluster that can be cut. Who is not root has
 * none: the cluster and the drivers are on loopback then, and nothing is cut.
 */
final class Network implements AutoCloseable {
  private static final String ADDRESS = OtherMachine.address(254);

  private final List<OtherMachine> machines = new ArrayList<>();
  private final boolean possible;

  /** Makes the cluster's address and a machine for each driver. */
  Network(int drivers) {
    this.possible = System.getProperty("user.name").equals("root");
    if (!possible) {
      return;
    }
    OtherMachine.add(ADDRESS);
    for (int i = 0; i < drivers; i++) {
      machines.add(OtherMachine.up(i));
    }
  }

  /** The address that the cluster has to listen on. */
  String address() {
    return possible ? ADDRESS : "127.0.0.1";
  }

  /** What starts a program on the machine of a driver. */
  List<String> starter(int driver) {
    return possible ? machines.get(driver).command() : List.of();
  }

  /** Whether links can be cut. */
  boolean isPossible() {
    return possible;
  }

  /** Cuts the link of a driver. */
  void cut(int driver) {
    machines.get(driver).cut();
  }

  /** Makes it whole. */
  void join(int driver) {
    machines.get(driver).join();
  }

  @Override
  public void close() {
    if (possible) {
      machines.forEach(OtherMachine::close);
      OtherMachine.remove(ADDRESS);
    }
  }
}
