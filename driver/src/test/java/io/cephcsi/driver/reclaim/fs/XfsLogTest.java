package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Tries;
import java.io.IOException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The end of the log, wherever it lies in the ring. */
class XfsLogTest {
  private static final int LENGTH = TinyXfs.LOG_LENGTH;
  private final TinyXfs xfs = new TinyXfs(new Random(1), true);

  private Inspection inspect() throws IOException {
    return FileSystems.inspect(new MemoryImage(xfs.bytes));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, 1",
    "0, 7, 1",
    "1, 1, 1",
    "100, 1, 63",
    "100, 2, 63",
    "4094, 1, 1",
    "4094, 9, 1",
    "4093, 3, 1",
    "4095, 5, 1",
    "4090, 4, 60",
    "4095, 2, 63"
  })
  void findsTheUnmountRecord(int position, int cycle, int body) throws IOException {
    xfs.writeLog(position, cycle, body);
    assertThat(inspect()).isInstanceOf(Inspection.Clean.class);
  }

  @Test
  void findsTheUnmountRecordAnywhere() {
    Tries.times(
        200,
        values -> {
          xfs.writeLog(
              values.between(0, LENGTH - 1), values.between(1, 1000), values.between(1, 63));
          assertThat(inspect()).isInstanceOf(Inspection.Clean.class);
        });
  }

  @Test
  void refusesWhenOneMoreBlockWasWritten() {
    Tries.times(
        200,
        values -> {
          int position = values.between(0, LENGTH - 3);
          int cycle = values.between(1, 1000);
          xfs.writeLog(position, cycle, 1);
          boolean wraps = position + 2 == LENGTH;
          xfs.log(wraps ? 0 : position + 2).putInt(0, wraps ? cycle + 1 : cycle);
          assertThat(inspect()).isInstanceOf(Inspection.Refused.class);
        });
  }

  @Test
  void refusesOtherRecordsAndEmptyLogs() throws IOException {
    xfs.writeLog(50, 2, 1);
    xfs.log(51).put(9, (byte) 0x01);
    assertThat(((Inspection.Refused) inspect()).reason())
        .isEqualTo(RefusalReason.JOURNAL_NOT_EMPTY);
    for (int i = 0; i < LENGTH; i++) {
      xfs.log(i).put(0, new byte[512]);
    }
    assertThat(inspect()).isInstanceOf(Inspection.Refused.class);
  }

  @Test
  void refusesALogOfAnotherFileSystem() throws IOException {
    xfs.writeLog(50, 2, 1);
    xfs.log(50).put(304, (byte) 'x');
    assertThat(inspect()).isInstanceOf(Inspection.Refused.class);
  }
}
