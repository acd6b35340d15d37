package io.cephcsi.driver.node;

import java.nio.file.Path;
import java.util.List;

/**
 * The program {@code rbd}, which knows nothing but what it is told: no ceph.conf of the machine.
 */
final class RbdProgram {
  private static final List<String> NO_CONFIGURATION = List.of("--conf", "/dev/null");

  private RbdProgram() {}

  /** For what needs no cluster. */
  static Command local() {
    return Command.of("rbd").with(NO_CONFIGURATION);
  }

  /** As a user of the request's cluster, whose key the program reads from its input. */
  static Command as(AttachRequest request) {
    return as(request, "-");
  }

  /** As a user of the request's cluster, whose key is in a file. */
  static Command as(AttachRequest request, Path keyFile) {
    return as(request, keyFile.toString());
  }

  private static Command as(AttachRequest request, String keyFile) {
    return local()
        .inNetwork(request.cluster().node().rbdNetwork())
        .with("--mon_host", String.join(",", request.cluster().monitors()))
        .with("--id", request.credentials().userId(), "--keyfile", keyFile);
  }
}
