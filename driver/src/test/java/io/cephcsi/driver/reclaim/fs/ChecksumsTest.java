package io.cephcsi.driver.reclaim.fs;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Tries;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class ChecksumsTest {
  private static final byte[] DIGITS = "123456789".getBytes(US_ASCII);

  @Test
  void matchesThePublishedCheckValues() {
    assertThat(Checksums.crc16(0xffff, ByteBuffer.wrap(DIGITS))).isEqualTo(0x4B37);
    CRC32C crc = Checksums.crc32cFrom(-1);
    crc.update(DIGITS);
    assertThat(~Checksums.register(crc)).isEqualTo(0xE3069283);
    assertThat(~Checksums.crc32(-1, ByteBuffer.wrap(DIGITS))).isEqualTo(0xCBF43926);
  }

  @Test
  void goesOnFromAnyRegister() {
    Tries.times(
        1000,
        values -> {
          byte[] after = values.bytes(256);
          CRC32C first = new CRC32C();
          first.update(values.bytes(256));
          CRC32C second = Checksums.crc32cFrom(Checksums.register(first));
          second.update(after);
          first.update(after);
          assertThat(second.getValue()).isEqualTo(first.getValue());
          ByteBuffer head = ByteBuffer.wrap(values.bytes(256));
          ByteBuffer tail = ByteBuffer.wrap(after);
          int register = (int) values.number();
          assertThat(Checksums.crc32(Checksums.crc32(register, head), tail))
              .isEqualTo(Checksums.crc32(register, head, tail));
        });
  }

  @Test
  void takesTheFieldItselfAsZero() {
    byte[] bytes = Arrays.copyOf(DIGITS, 12);
    CRC32C crc = new CRC32C();
    crc.update(new byte[] {'1', '2', 0, 0, 0, 0, '7', '8', '9', 0, 0, 0});
    assertThat(Checksums.crc32cWithout(ByteBuffer.wrap(bytes), 2)).isEqualTo((int) crc.getValue());
  }
}
