package io.cephcsi.driver.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException.Reason;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CapacityRangeTest {
  private static final long MAX = Long.MAX_VALUE;

  @ParameterizedTest
  @CsvSource({
    "0, 0, 1073741824", // nothing said
    "0, 4096, 4096",
    "0, 8191, 4096",
    "0, 1073741823, 1073737728",
    "0, 1073741824, 1073741824",
    "0, 9223372036854775807, 1073741824",
    "1, 0, 4096",
    "4096, 0, 4096",
    "4097, 0, 8192",
    "4097, 8192, 8192",
    "4096, 4096, 4096",
    "1073741824, 0, 1073741824",
    "1152921504606846975, 0, 1152921504606846976" // an exbibyte
  })
  void theSmallestSizeOfWholeBlocksIsMade(long required, long limit, long size) {
    CapacityRange range = new CapacityRange(required, limit);
    assertThat(range.sizeToCreate()).isEqualTo(size);
    assertThat(range.contains(size)).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1",
    "0, 4095",
    "1, 4095",
    "4097, 4098",
    "4097, 8191",
    "9223372036854775807, 0",
    "9223372036854775807, 9223372036854775807",
    "9223372036854771713, 0",
    "1152921504606846977, 0"
  })
  void aRangeWithoutWholeBlocksIsOutOfRange(long required, long limit) {
    CapacityRange range = new CapacityRange(required, limit);
    assertReason(Reason.OUT_OF_RANGE, range::sizeToCreate);
  }

  @Test
  void negativeBoundsAreInvalid() {
    assertReason(Reason.INVALID_ARGUMENT, () -> new CapacityRange(-1, 0));
    assertReason(Reason.INVALID_ARGUMENT, () -> new CapacityRange(0, -1));
    assertReason(Reason.INVALID_ARGUMENT, () -> new CapacityRange(Long.MIN_VALUE, 0));
    assertReason(Reason.INVALID_ARGUMENT, () -> new CapacityRange(-1, -2));
  }

  @Test
  void aLimitBelowWhatIsRequiredIsOutOfRange() {
    assertReason(Reason.OUT_OF_RANGE, () -> new CapacityRange(4096, 4095));
    assertReason(Reason.OUT_OF_RANGE, () -> new CapacityRange(MAX, MAX - 1));
  }

  @Test
  void anExistingSizeFitsBetweenItsBoundsOnly() {
    CapacityRange range = new CapacityRange(10, 20);
    assertThat(range.contains(9)).isFalse();
    assertThat(range.contains(10)).isTrue();
    assertThat(range.contains(20)).isTrue();
    assertThat(range.contains(21)).isFalse();
    assertThat(CapacityRange.ANY.contains(0)).isTrue();
    assertThat(CapacityRange.ANY.contains(MAX)).isTrue();
    assertThat(new CapacityRange(10, 0).contains(MAX)).isTrue();
    assertThat(new CapacityRange(0, 10).contains(11)).isFalse();
  }

  private static void assertReason(Reason reason, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageMatching("(?s).+");
  }
}
