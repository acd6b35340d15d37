package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
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

  @Property(tries = 200)
  void findsTheUnmountRecordAnywhere(
      @ForAll @IntRange(max = LENGTH - 1) int position,
      @ForAll @IntRange(min = 1, max = 1000) int cycle,
      @ForAll @IntRange(min = 1, max = 63) int body)
      throws IOException {
    xfs.writeLog(position, cycle, body);
    assertThat(inspect()).isInstanceOf(Inspection.Clean.class);
  }

  @Property(tries = 200)
  void refusesWhenOneMoreBlockWasWritten(
      @ForAll @IntRange(max = LENGTH - 3) int position,
      @ForAll @IntRange(min = 1, max = 1000) int cycle)
      throws IOException {
    xfs.writeLog(position, cycle, 1);
    xfs.log(position + 2 == LENGTH ? 0 : position + 2)
        .putInt(0, position + 2 == LENGTH ? cycle + 1 : cycle);
    assertThat(inspect()).isInstanceOf(Inspection.Refused.class);
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
