package io.cephcsi.driver.fsck;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.fsck.FindingKind.Mend;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class FindingTest {
  @Test
  void textsOfOthersAreEscapedAndCut() {
    Finding finding =
        Finding.of(FindingKind.NAME_DAMAGED, "rbd", "pvc\u001b[2J\n", "x".repeat(10_000));
    assertThat(finding.object()).isEqualTo("pvc\\u001b[2J\\n");
    assertThat(finding.detail()).hasSize(300).endsWith("...");
  }

  @Test
  void aCommandIsOfWordsThatAShellTakesAsTheyAre() {
    Finding finding = Finding.of(FindingKind.IMAGE_WITHOUT_ENTRY, "rbd", "x", "");
    assertThat(finding.with("rbd", "trash", "mv", "rbd/ns/csi-vol-1").command())
        .isEqualTo("rbd trash mv rbd/ns/csi-vol-1");
    for (String hostile : new String[] {"a b", "$(x)", "`x`", "a;b", "a\nb", "'", "*", ""}) {
      assertThat(finding.with("rbd", "rm", hostile).command()).as(hostile).isEmpty();
    }
  }

  @Test
  void twoLooksAtOneThingHaveOneKey() {
    Finding one = Finding.of(FindingKind.IMAGE_GONE, "rbd", "csi.volume.1", "since 1");
    Finding two = Finding.of(FindingKind.IMAGE_GONE, "rbd", "csi.volume.1", "since 2");
    assertThat(one.key()).isEqualTo(two.key());
    assertThat(one.key())
        .isNotEqualTo(Finding.of(FindingKind.IMAGE_GONE, "rbd2", "csi.volume.1", "").key());
  }

  @Test
  void eachKindSaysWhatItMeansAndWhatMendsIt() {
    for (FindingKind kind : FindingKind.values()) {
      assertThat(kind.meaning()).as(kind.name()).isNotBlank().doesNotEndWith(".");
      assertThat(kind.remedy()).as(kind.name()).isNotBlank().doesNotEndWith(".");
    }
    assertThat(Arrays.stream(FindingKind.values()).map(FindingKind::mend))
        .contains(Mend.BY_FSCK, Mend.BY_HAND);
  }
}
