package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What another format leaves of a clean ext2 is not trimmed by what that says. */
class OtherFormatsTest {
  private static final byte[] EXT = new TinyExt(new Random(7)).bytes;

  /** What is written where, one character for each byte. */
  private static Map<Integer, String> signs() {
    Map<Integer, String> signs = new TreeMap<>();
    signs.put(0, "OracleCFS");
    signs.put(3, "-FVE-FS-");
    signs.put(32, "NXSB");
    signs.put(0x1000, "OCFSV2");
    signs.put(0x2000, "OCFSV2");
    signs.put(0x2034, "ReIsErFs");
    signs.put(0x10034, "ReIsEr2Fs");
    signs.put(0x10000, "ReIsEr4");
    signs.put(0x8000, "JFS1");
    signs.put(0x8001, "BEA01");
    signs.put(0x8801, "NSR02");
    // UFS of both versions and byte orders, at the places that newfs of FreeBSD uses.
    signs.put((8 << 10) + 1372, "T\u0019\u0001\0");
    signs.put((64 << 10) + 1372, "\u0019\u0001T\u0019");
    signs.put((256 << 10) + 1372, "\u0019\u0001T\u0019");
    signs.put((256 << 10) + 1374 - 2, "\u0019T\u0001\u0019");
    signs.put(0x4000 + 20, "\0\u0001name version");
    signs.put(1 << 20, "\r\u00d0\u0001\u00c0");
    return signs;
  }

  private static byte[] with(int at, String text) {
    byte[] image = EXT.clone();
    byte[] sign = text.getBytes(StandardCharsets.ISO_8859_1);
    System.arraycopy(sign, 0, image, at, sign.length);
    return image;
  }

  private static void assertAmbiguous(byte[] image, String what) throws IOException {
    assertThat(FileSystems.inspect(new MemoryImage(image)))
        .as(what)
        .isInstanceOfSatisfying(
            Inspection.Refused.class,
            refused -> assertThat(refused.reason()).isEqualTo(RefusalReason.AMBIGUOUS_CONTENT));
  }

  @Test
  void aSuperblockThatAnotherFormatLeftInPlaceIsAmbiguous() throws IOException {
    assertThat(FileSystems.inspect(new MemoryImage(EXT))).isInstanceOf(Inspection.Clean.class);
    for (Map.Entry<Integer, String> sign : signs().entrySet()) {
      assertAmbiguous(with(sign.getKey(), sign.getValue()), sign.getValue());
    }
  }

  @Test
  void diskLabelsAreFormats() throws IOException {
    for (int at : new int[] {0, 64, 128, 512}) {
      for (ByteOrder order : new ByteOrder[] {ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN}) {
        byte[] bsd = EXT.clone();
        ByteBuffer label = ByteBuffer.wrap(bsd).order(order);
        label.putInt(at, 0x82564557).putInt(at + 132, 0x82564557);
        assertAmbiguous(bsd, "label at " + at);
      }
    }
    byte[] sun = EXT.clone();
    ByteBuffer.wrap(sun).putShort(100, (short) 77).putShort(508, (short) 0xDABE);
    ByteBuffer.wrap(sun).putShort(510, (short) (0xDABE ^ 77));
    assertAmbiguous(sun, "label of Sun");
    byte[] apple = with(0, "ER");
    apple[512] = 'P';
    apple[513] = 'M';
    assertAmbiguous(apple, "map of Apple");
  }

  @Test
  void whatLooksLikeASignByHalfIsNone() throws IOException {
    for (String half : new String[] {"\u0001\u0016\u0019p", "PM", "ER", "\u00da\u00be"}) {
      assertThat(FileSystems.inspect(new MemoryImage(with(0x10000, half))))
          .as(half)
          .isInstanceOf(Inspection.Clean.class);
    }
    byte[] once = EXT.clone();
    ByteBuffer.wrap(once).putInt(512, 0x82564557).putShort(508, (short) 0xDABE);
    assertThat(FileSystems.inspect(new MemoryImage(once))).isInstanceOf(Inspection.Clean.class);
    assertAmbiguous(with(0x10000, "\u0001\u0016\u0019p\0\0\0\u0001"), "GFS2");
  }

  @Test
  void aloneTheyAreNotRead() throws IOException {
    byte[] jfs = new byte[1 << 20];
    System.arraycopy("JFS1".getBytes(StandardCharsets.US_ASCII), 0, jfs, 0x8000, 4);
    assertThat(FileSystems.inspect(new MemoryImage(jfs)))
        .isInstanceOfSatisfying(
            Inspection.Refused.class,
            refused -> assertThat(refused.reason()).isEqualTo(RefusalReason.UNSUPPORTED_CONTENT));
  }
}
