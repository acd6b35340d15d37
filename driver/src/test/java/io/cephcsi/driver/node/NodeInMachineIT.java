package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.cephfs.NodeCephFsIT;
import io.cephcsi.driver.node.rbd.EncryptedNode;
import io.cephcsi.driver.node.rbd.KilledNbd;
import io.cephcsi.driver.node.rbd.KrbdAgainstTrims;
import io.cephcsi.driver.node.rbd.NodeRbdAccessIT;
import io.cephcsi.driver.node.rbd.NodeRbdFormatIT;
import io.cephcsi.driver.node.rbd.NodeRbdGrowIT;
import io.cephcsi.driver.node.rbd.NodeRbdIT;
import io.cephcsi.driver.node.rbd.NodeRbdServerIT;
import io.cephcsi.driver.testing.Machine;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * The node's tests where the kernel has rbd, nbd and ceph: in a virtual machine, where Java is ten
 * times slower, and which takes two minutes to begin. What needs this kernel always, all of it, and
 * FUSE with it, in the campaign.
 */
public class NodeInMachineIT {
  private static final Duration LIMIT = Duration.ofMinutes(20);
  private static final String RBD = NodeRbdIT.class.getName();
  private static final String RBD_ACCESS = NodeRbdAccessIT.class.getName();
  private static final String RBD_FORMAT = NodeRbdFormatIT.class.getName();
  private static final String ENCRYPTED = EncryptedNode.class.getName();
  private static final String CEPHFS = NodeCephFsIT.class.getName();
  private static final String RECLAIM = RBD + "#deletedFilesGiveTheirSpaceBack(java.lang.String)";
  private static final String AGAINST_TRIMS = KrbdAgainstTrims.class.getName();
  private static final String SHALLOW =
      CEPHFS + "#shallowVolumesShowTheirSnapshotAndNothingAboveIt";

  private static Machine machine;

  @BeforeAll
  static void start() throws Exception {
    machine = Machine.withCluster("machine");
  }

  @AfterAll
  static void stop() {
    if (machine != null) {
      machine.close();
    }
  }

  private static void pass(String mounter, String... tests) throws Exception {
    assertThat(machine.run(LIMIT, List.of("-Dceph.csi.mounter=" + mounter), List.of(tests)))
        .contains(" passed, 0 failed");
  }

  @Test
  void krbdAndEncrypted() throws Exception {
    pass(
        "rbd",
        RECLAIM,
        RBD_FORMAT + "#aDeviceThatKeepsTheLockForItselfIsFormatted",
        ENCRYPTED + "#whatIsWrittenIsEncryptedAndThereAgain",
        ENCRYPTED + "#aPassphraseIsChangedWhileTheVolumeIsInUse");
  }

  @Test
  void nbd() throws Exception {
    pass("rbd-nbd", RECLAIM, KilledNbd.class.getName());
  }

  @Test
  void cephFsByTheKernel() throws Exception {
    pass("kernel", SHALLOW, CEPHFS + "#whatIsWrittenIsThereAgainAfterUnwinding");
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full")
  void krbdAgainstManyTrims() throws Exception {
    assertThat(
            machine.run(
                Duration.ofHours(1),
                List.of("-Dceph.csi.mounter=rbd", "-Dceph.csi.rounds=30"),
                List.of(AGAINST_TRIMS)))
        .contains(" passed, 0 failed");
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full")
  void everythingByEveryWay() throws Exception {
    pass(
        "rbd",
        RBD,
        RBD_ACCESS,
        RBD_FORMAT,
        ENCRYPTED,
        NodeRbdGrowIT.class.getName(),
        NodeRbdServerIT.class.getName());
    pass(
        "rbd-nbd", // without those that grow: rbd-nbd of Ceph 16 cannot
        RBD + "#everyCallMayBeRepeated(java.lang.String)",
        RBD_ACCESS + "#readersCannotWrite",
        RBD + "#aSingleWriterHasOneTarget",
        RBD + "#manyVolumesSideBySide");
    pass("kernel", CEPHFS);
    pass("fuse", CEPHFS);
  }
}
