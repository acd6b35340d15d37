package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CephFsVolumesTest {
  private static final String SUBVOLUME = "/volumes/csi/csi-vol-1";

  /** The context of a volume is what a PersistentVolume says, which people may write. */
  @ParameterizedTest
  @CsvSource({
    "/volumes/csi/csi-vol-1/uuid, true",
    "/volumes/csi/csi-vol-1/uuid/folder, true",
    "/volumes/csi/csi-vol-1/..data, true",
    "/volumes/csi/csi-vol-1, false",
    "/volumes/csi/csi-vol-1/, false",
    "/volumes/csi/csi-vol-10/uuid, false",
    "/volumes/csi/csi-vol-1/.., false",
    "/volumes/csi/csi-vol-1/../csi-vol-2/uuid, false",
    "/volumes/csi/csi-vol-1/uuid/../../csi-vol-2/uuid, false",
    "/volumes/csi/csi-vol-1/./uuid, false",
    "/volumes/csi/csi-vol-1//uuid, false",
    "/volumes/csi/csi-vol-1/uuid/, false",
  })
  void aPathThatIsGivenLeadsIntoItsSubvolumeOnly(String path, boolean taken) {
    assertThat(CephFsVolumes.isBelow(path, SUBVOLUME)).isEqualTo(taken);
  }
}
