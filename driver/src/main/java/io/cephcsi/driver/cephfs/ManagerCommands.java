package io.cephcsi.driver.cephfs;

/** Sends commands to the manager of a cluster. */
interface ManagerCommands {
  /**
   * Sends a command and waits for its end.
   *
   * @param json the command
   * @return what it printed
   * @throws io.cephcsi.bindings.error.CephException with the status line that the manager sent
   */
  String send(String json);
}
