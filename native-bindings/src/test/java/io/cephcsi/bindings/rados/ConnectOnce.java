package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;

/** A program that connects as client.admin and prints the error number. */
final class ConnectOnce {
  private ConnectOnce() {}

  /** Takes the monitors and the key. */
  public static void main(String[] args) {
    try (RadosCluster cluster =
        RadosCluster.connect(
            ConnectionSettings.user("admin").monitors(args[0]).key(args[1]).build())) {
      System.out.println(cluster.fsid());
    } catch (CephException e) {
      System.out.println(e.errno());
    }
  }
}
