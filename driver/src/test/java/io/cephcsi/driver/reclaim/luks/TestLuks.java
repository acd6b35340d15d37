package io.cephcsi.driver.reclaim.luks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.RbdImage;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/**
 * A file with LUKS2 by the real cryptsetup, and what dm-crypt would write behind its header, made
 * here sector by sector.
 */
public final class TestLuks {
  /** Where cryptsetup lets the data begin, in bytes. */
  public static final int OFFSET = 16 << 20;

  private static final int CHUNK = 1 << 20;
  private static final int COPY = 16 << 10;
  private static final int BINARY = 4096;
  private static final int CHECKSUM = 448;
  private static final Pattern KEY = Pattern.compile("MK dump:\\s*([0-9a-f\\s]+)");

  private final Path file;
  private final String passphrase;

  private TestLuks(Path file, String passphrase) {
    this.file = file;
    this.passphrase = passphrase;
  }

  /** Puts LUKS2 on a new file of this length. */
  public static TestLuks format(Path folder, long bytes, String passphrase, String... options) {
    try {
      Path file = Files.createTempFile(folder, "luks", ".img");
      try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
        made.setLength(bytes);
      }
      TestLuks luks = new TestLuks(file, passphrase);
      luks.run("luksFormat", List.of(options));
      return luks;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The file. */
  public Path file() {
    return file;
  }

  /** Runs cryptsetup on the file, with the passphrase as its input. */
  public String run(String action, List<String> options) {
    List<String> command = new ArrayList<>(List.of("cryptsetup", "--batch-mode", action));
    if (action.equals("luksFormat")) {
      command.addAll(List.of("--type", "luks2", "--pbkdf-force-iterations", "4"));
      command.addAll(List.of("--pbkdf-memory", "32768", "--hash", "sha256"));
    }
    command.addAll(options);
    command.addAll(List.of("--key-file=-", file.toString()));
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      try (OutputStream input = process.getOutputStream()) {
        input.write(passphrase.getBytes(UTF_8));
      } catch (IOException e) {
        // It ended without a look at its input; its exit code tells whether it should have.
      }
      String said = new String(process.getInputStream().readAllBytes(), UTF_8);
      assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
      assertThat(process.exitValue()).as(said).isZero();
      return said;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /**
   * Changes what both copies of a header say, with right checksums.
   *
   * @param file with the header of a format as above
   */
  public static void rewrite(Path file, UnaryOperator<String> change) {
    try (RandomAccessFile device = new RandomAccessFile(file.toFile(), "rw")) {
      for (int at : new int[] {0, COPY}) {
        byte[] copy = new byte[COPY];
        device.seek(at);
        device.readFully(copy);
        String json = new String(copy, BINARY, COPY - BINARY, UTF_8);
        byte[] changed = change.apply(json.substring(0, json.indexOf(0))).getBytes(UTF_8);
        Arrays.fill(copy, BINARY, COPY, (byte) 0);
        System.arraycopy(changed, 0, copy, BINARY, changed.length);
        Arrays.fill(copy, CHECKSUM, CHECKSUM + 64, (byte) 0);
        byte[] checksum = MessageDigest.getInstance("SHA-256").digest(copy);
        System.arraycopy(checksum, 0, copy, CHECKSUM, checksum.length);
        device.seek(at);
        device.write(copy);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  /** The key of the data, as cryptsetup says it. */
  byte[] key() {
    Matcher key = KEY.matcher(run("luksDump", List.of("--dump-volume-key")));
    assertThat(key.find()).isTrue();
    return HexFormat.of().parseHex(key.group(1).replaceAll("\\s", ""));
  }

  /** Writes the header, and behind it what is in a plain file, encrypted. */
  public void writeTo(RbdImage image, Path plain, int sectorBytes) {
    byte[] key = key();
    try (FileChannel header = FileChannel.open(file);
        FileChannel content = FileChannel.open(plain)) {
      for (int at = 0; at < OFFSET; at += CHUNK) {
        image.write(at, read(header, at, CHUNK));
      }
      for (long at = 0; at < content.size(); at += CHUNK) {
        byte[] data = read(content, at, (int) Math.min(CHUNK, content.size() - at));
        image.write(OFFSET + at, crypt(Cipher.ENCRYPT_MODE, key, data, at, sectorBytes));
      }
      image.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Replaces a plain file by the decrypted content of an image. */
  public void readFrom(RbdImage image, Path plain, int sectorBytes) {
    byte[] key = key();
    try (FileChannel content =
        FileChannel.open(plain, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
      for (long at = 0; at < image.size() - OFFSET; at += CHUNK) {
        byte[] data = image.read(OFFSET + at, (int) Math.min(CHUNK, image.size() - OFFSET - at));
        content.write(ByteBuffer.wrap(crypt(Cipher.DECRYPT_MODE, key, data, at, sectorBytes)), at);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] read(FileChannel channel, long at, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    channel.read(bytes, at);
    return bytes.array();
  }

  /**
   * AES-XTS block by block, as IEEE 1619 describes it.
   *
   * @param at where the data are behind the header, in bytes
   */
  static byte[] crypt(int mode, byte[] key, byte[] data, long at, int sectorBytes) {
    try {
      int half = key.length / 2;
      Cipher block = Cipher.getInstance("AES/ECB/NoPadding");
      block.init(mode, new SecretKeySpec(key, 0, half, "AES"));
      Cipher tweak = Cipher.getInstance("AES/ECB/NoPadding");
      tweak.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, half, half, "AES"));
      byte[] result = new byte[data.length];
      for (int sector = 0; sector < data.length; sector += sectorBytes) {
        byte[] number =
            ByteBuffer.allocate(16)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(0, (at + sector) / 512)
                .array();
        byte[] factor = tweak.doFinal(number);
        byte[] sealed = Arrays.copyOfRange(data, sector, sector + sectorBytes);
        byte[] factors = new byte[sectorBytes];
        for (int i = 0; i < sectorBytes; i += 16) {
          System.arraycopy(factor, 0, factors, i, 16);
          factor = doubled(factor);
        }
        mix(sealed, factors);
        sealed = block.doFinal(sealed);
        mix(sealed, factors);
        System.arraycopy(sealed, 0, result, sector, sectorBytes);
      }
      return result;
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] doubled(byte[] factor) {
    byte[] next = new byte[16];
    int carry = 0;
    for (int i = 0; i < 16; i++) {
      int value = (factor[i] & 0xff) << 1 | carry;
      next[i] = (byte) value;
      carry = value >> 8;
    }
    if (carry != 0) {
      next[0] ^= (byte) 0x87;
    }
    return next;
  }

  private static void mix(byte[] bytes, byte[] with) {
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] ^= with[i];
    }
  }
}
