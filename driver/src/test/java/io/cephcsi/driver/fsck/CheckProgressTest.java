package io.cephcsi.driver.fsck;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class CheckProgressTest {
  @Test
  void whatIsLeftIsEstimatedFromWhatIsDone() {
    CheckProgress progress = new CheckProgress();
    progress.begin("checking images of rbd", 4);
    assertThat(progress.remaining()).isEmpty(); // nothing is done yet
    progress.step();
    Duration of3 = progress.remaining().orElseThrow();
    progress.step();
    progress.step();
    assertThat(progress.done()).isEqualTo(3);
    assertThat(of3).isPositive();
    progress.step();
    assertThat(progress.remaining()).isEmpty();
    progress.begin("listing the objects of rbd", 0);
    progress.step();
    assertThat(progress.phase()).isEqualTo("listing the objects of rbd");
    assertThat(progress.remaining()).isEmpty(); // nobody knows how many there are
  }
}
