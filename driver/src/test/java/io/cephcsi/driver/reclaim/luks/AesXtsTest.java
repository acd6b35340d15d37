package io.cephcsi.driver.reclaim.luks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import java.util.Random;
import javax.crypto.Cipher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AesXtsTest {
  private static byte[] hex(String text) {
    return HexFormat.of().parseHex(text);
  }

  /** Vectors of IEEE 1619, annex B. */
  @ParameterizedTest
  @CsvSource({
    "0000000000000000000000000000000000000000000000000000000000000000,0,"
        + "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e,"
        + "0000000000000000000000000000000000000000000000000000000000000000",
    "1111111111111111111111111111111122222222222222222222222222222222,219902325555,"
        + "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0,"
        + "4444444444444444444444444444444444444444444444444444444444444444",
  })
  void vectorsOfTheStandardAreDecrypted(String key, long number, String sealed, String plain) {
    byte[] bytes = hex(sealed);
    new AesXts(hex(key), 32).decrypt(bytes, number);
    assertThat(bytes).isEqualTo(hex(plain));
  }

  @Test
  void manySectorsOfAnySizeAreThoseOfBlockByBlock() {
    Random random = new Random(11);
    for (int sector : new int[] {512, 1024, 2048, 4096}) {
      for (int keyBytes : new int[] {32, 64}) {
        byte[] key = new byte[keyBytes];
        random.nextBytes(key);
        byte[] plain = new byte[300 << 10];
        random.nextBytes(plain);
        long at = (1L << 40) + 8192;
        byte[] bytes = TestLuks.crypt(Cipher.ENCRYPT_MODE, key, plain, at, sector);
        assertThat(bytes).isNotEqualTo(plain);
        new AesXts(key, sector).decrypt(bytes, at / 512);
        assertThat(bytes).isEqualTo(plain);
      }
    }
  }
}
