package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.CephCommand;

/** Sends commands to the manager of a cluster. */
interface ManagerCommands {
  /**
   * Sends a command and waits for its end.
   *
   * @return what it printed
   * @throws io.cephcsi.bindings.error.CephException with the status line that the manager sent
   */
  String send(CephCommand command);
}
