package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.ReclaimPlan;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is wrong is said before a cluster is asked: here is none. */
class PoolReclaimOptionsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--pool p --top 1 --min-bytes 1M | exclude each other",
        "--pool p rbd/image | exclude each other",
        "--pool p --method sparsify | trims only",
        "--pool p --method both | trims only",
        "--pool p --top 0 | --top",
        "--pool p --min-bytes 0 | --min-bytes",
        "--pool p --min-bytes lots | --min-bytes",
        "--pool p --budget soon | --budget",
        "--pool p --reclaims 0 | --reclaims",
        "--pool p --reclaims 65 | --reclaims",
        "--pool p --workers 0 | --workers",
        "--pool p --estimate-rate -1 | --estimate-rate",
        "--pool a/b/c | POOL/NAMESPACE",
        "--pool /b | POOL/NAMESPACE",
        "--top 3 rbd/image | need --pool",
        "--state f rbd/image | need --pool",
        "--budget 1G rbd/image | need --pool",
        "--min-bytes 1G rbd/image | need --pool",
        "--max-bytes-per-second 5 --pool p | reclaim.maxBytesPerSecond",
        "--dry-run | neither images nor --pool",
      })
  void aWrongCommandLineIsNamed(String arguments, String why) {
    assertWrong("reclaim " + arguments, why);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--exact | neither images nor --pool are given",
        "--pool p rbd/image | images and --pool exclude each other",
        "--pool p --workers 0 | --workers",
      })
  void aWrongCommandLineOfUsageIsNamed(String arguments, String why) {
    assertWrong("usage " + arguments, why);
  }

  @Test
  void theHelpNamesWhatIsTrimmed() {
    String help = Program.run("reclaim", "--help").out();
    assertThat(help).contains("ext2/3/4", "XFS", "NTFS", "btrfs", "FAT", "exFAT", "swap");
  }

  private static void assertWrong(String commandLine, String why) {
    Program run = Program.run(commandLine.split(" ", -1));
    assertThat(run.err()).contains(why);
    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.out()).isEmpty();
  }

  @Test
  void thePoolSharesItsRateAmongTheImages() {
    ReclaimPlan plan =
        ReclaimPlan.parse(Map.of("reclaim.maxBytesPerSecond", Integer.toString(3 << 20)));
    assertThat(plan.sharers(8)).isEqualTo(3);
    assertThat(plan.sharers(2)).isEqualTo(2);
    assertThat(plan.sharedBy(3).maxBytesPerSecond()).isEqualTo(1 << 20);
    assertThat(ReclaimPlan.DEFAULT.sharers(8)).isEqualTo(8);
    assertThat(ReclaimPlan.DEFAULT.sharedBy(8)).isEqualTo(ReclaimPlan.DEFAULT);
  }
}
