package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.cephfs.EncryptedCephFsNode;
import io.cephcsi.driver.node.cephfs.NodeCephFsIT;
import io.cephcsi.driver.testing.Machine;
import io.cephcsi.driver.testing.SubvolumeState;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Encrypted files of CephFS, which the kernel's client alone has: in a virtual machine with the
 * kernel of this host's Debian. With Debian 12 that is too old, and its Ceph as well, which must be
 * refused; {@code ci/other-ceph} has both new enough.
 */
class EncryptedFilesInMachineIT {
  private static final String TESTS = EncryptedCephFsNode.class.getName();
  private static final int FIRST_RELEASE = 17;

  @Test
  void areKeptOrRefused() throws Exception {
    try (Machine machine = Machine.withCluster("encrypted-files")) {
      machine.learn(
          List.of(NodeCephFsIT.class.getName() + "#whatIsWrittenIsThereAgainAfterUnwinding"));
      boolean kept = new SubvolumeState(machine.cluster()).release() >= FIRST_RELEASE;
      List<String> tests =
          kept
              ? List.of(
                  TESTS + "#whatAWorkloadWritesIsEncryptedAndThereAgain",
                  TESTS + "#ofNodesThatStageAVolumeFirstAtOnceOneMakesTheFolderForAll")
              : List.of(TESTS + "#whatCannotKeepThemIsRefusedAndNothingIsChanged");
      assertThat(run(machine, tests)).contains(tests.size() + " passed, 0 failed");
    }
  }

  private static String run(Machine machine, List<String> tests) throws Exception {
    return machine.run(
        Duration.ofMinutes(20),
        java.util.stream.Stream.concat(
                java.util.stream.Stream.of("ceph.csi.mounter=kernel"), tests.stream())
            .toList());
  }
}
