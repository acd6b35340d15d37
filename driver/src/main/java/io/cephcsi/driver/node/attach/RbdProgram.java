package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import java.nio.file.Path;

/**
 * The program {@code rbd}, which knows nothing but what it is told: no ceph.conf of the machine.
 */
final class RbdProgram {
  private RbdProgram() {}

  /** For what needs no cluster. */
  static Command local() {
    return Command.of("rbd", "--conf", "/dev/null");
  }

  /** As a user of the request's cluster, whose key the program reads from its input. */
  static Command as(AttachRequest request) {
    return asUser(request).with("-");
  }

  /** As a user of the request's cluster, whose key is in a file. */
  static Command as(AttachRequest request, Path keyFile) {
    return asUser(request).with(Argument.path(keyFile));
  }

  private static Command asUser(AttachRequest request) {
    return local()
        .inNetwork(request.cluster().node().rbdNetwork())
        .with("--mon_host")
        .with(Argument.of("monitors", String.join(",", request.cluster().monitors())))
        .with("--id")
        .with(Argument.of("the user's id", request.credentials().userId()))
        .with("--keyfile");
  }
}
