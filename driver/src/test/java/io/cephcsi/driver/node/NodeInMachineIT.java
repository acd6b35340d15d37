package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.cephfs.NodeCephFsIT;
import io.cephcsi.driver.node.rbd.EncryptedGoldenNode;
import io.cephcsi.driver.node.rbd.EncryptedNode;
import io.cephcsi.driver.node.rbd.KilledNbd;
import io.cephcsi.driver.node.rbd.KrbdAgainstTrims;
import io.cephcsi.driver.node.rbd.NodeRbdAccessIT;
import io.cephcsi.driver.node.rbd.NodeRbdFormatIT;
import io.cephcsi.driver.node.rbd.NodeRbdGrowIT;
import io.cephcsi.driver.node.rbd.NodeRbdIT;
import io.cephcsi.driver.node.rbd.NodeRbdServerIT;
import io.cephcsi.driver.node.rbd.TwiceMapped;
import io.cephcsi.driver.testing.Machine;
import io.cephcsi.testing.Tries;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * The node's tests where the kernel has rbd, nbd and ceph: in a virtual machine, where Java is ten
 * times slower. What needs this kernel always, reclaim of one file system by krbd and of the other
 * by rbd-nbd; all of it, and FUSE with it, in the campaign.
 */
public class NodeInMachineIT {
  private static final Duration LIMIT = Duration.ofMinutes(40);
  private static final String KRBD = "ceph.csi.mounter=rbd";
  private static final String NBD = "ceph.csi.mounter=rbd-nbd";
  private static final String KERNEL = "ceph.csi.mounter=kernel";
  private static final String FUSE = "ceph.csi.mounter=fuse";
  private static final String RBD = NodeRbdIT.class.getName();
  private static final String RBD_ACCESS = NodeRbdAccessIT.class.getName();
  private static final String RBD_FORMAT = NodeRbdFormatIT.class.getName();
  private static final String ENCRYPTED = EncryptedNode.class.getName();
  private static final String GOLDEN =
      EncryptedGoldenNode.class.getName()
          + "#aVolumeOfCephCsiIsStagedReadExpandedRotatedAndDeleted(java.lang.String)";
  private static final String CEPHFS = NodeCephFsIT.class.getName();
  private static final String RECLAIM = RBD + "#deletedFilesGiveTheirSpaceBack(java.lang.String)";
  private static final String AGAINST_TRIMS = KrbdAgainstTrims.class.getName();
  private static final String SHALLOW =
      CEPHFS + "#shallowVolumesShowTheirSnapshotAndNothingAboveIt";

  private static Machine machine;

  @BeforeAll
  static void start() throws Exception {
    machine = Machine.withCluster("machine");
    machine.learn(List.of(RECLAIM, SHALLOW));
  }

  @AfterAll
  static void stop() {
    if (machine != null) {
      machine.close();
    }
  }

  private static void pass(Duration limit, String... tests) throws Exception {
    assertThat(machine.run(limit, List.of(tests))).contains(" passed, 0 failed");
  }

  /** In one machine, in one JVM: each of them takes a minute to begin. */
  @Test
  void whatNeedsThisKernel() {
    Tries.times(
        1,
        values -> {
          int fileSystem = values.between(0, 1);
          pass(
              LIMIT,
              KRBD,
              RECLAIM + "@" + fileSystem,
              RBD_FORMAT + "#aDeviceThatKeepsTheLockForItselfIsFormatted",
              ENCRYPTED + "#whatIsWrittenIsEncryptedAndThereAgain",
              ENCRYPTED + "#aHeaderThatOpensByAnotherPassphraseIsRefused",
              TwiceMapped.class.getName(),
              GOLDEN + "@" + values.between(0, 1),
              NBD,
              RECLAIM + "@" + (1 - fileSystem),
              KilledNbd.class.getName(),
              KERNEL,
              SHALLOW,
              CEPHFS + "#whatIsWrittenIsThereAgainAfterUnwinding");
        });
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full")
  void krbdAgainstManyTrims() throws Exception {
    pass(Duration.ofHours(1), KRBD, "ceph.csi.rounds=30", AGAINST_TRIMS);
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full")
  void everythingByEveryWay() throws Exception {
    pass(
        Duration.ofHours(2),
        KRBD,
        RBD,
        RBD_ACCESS,
        RBD_FORMAT,
        ENCRYPTED,
        EncryptedGoldenNode.class.getName(),
        NodeRbdGrowIT.class.getName(),
        NodeRbdServerIT.class.getName(),
        NBD, // without those that grow: rbd-nbd of Ceph 16 cannot
        RBD + "#everyCallMayBeRepeated(java.lang.String)",
        RBD_ACCESS + "#readersCannotWrite",
        RBD + "#aSingleWriterHasOneTarget",
        RBD + "#manyVolumesSideBySide",
        KERNEL,
        CEPHFS,
        FUSE,
        CEPHFS);
  }
}
