package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FsckReportTest {
  @TempDir private Path folder;

  @Test
  void metricsTellHowMuchWasLeftOut() throws IOException {
    FsckReport report = new FsckReport();
    report.leaveOut("one", "EPERM");
    report.leaveOut("two", "EPERM");
    Path file = folder.resolve("fsck.prom");
    report.writeMetrics(file);
    assertThat(Files.readString(file))
        .contains("# TYPE ceph_csi_fsck_left_out gauge\nceph_csi_fsck_left_out 2\n")
        .contains("ceph_csi_fsck_findings{kind=\"image_gone\"} 0\n");
  }
}
