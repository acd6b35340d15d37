package io.cephcsi.driver.reclaim.luks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.reclaim.fs.FreeRange;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import javax.crypto.Cipher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers of the real cryptsetup. */
class LuksVolumeIT {
  private static final long BYTES = 24 << 20;
  private static final String PASSPHRASE = "a passphrase, with a newline\nwithin";

  @TempDir private Path folder;

  private static Optional<LuksVolume> open(FileChannel channel, String passphrase)
      throws IOException, LuksRefusal {
    return LuksVolume.open(new FileDevice(channel, channel.size()), passphrase.getBytes(UTF_8));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--pbkdf argon2id --sector-size 512",
        "--pbkdf argon2id --sector-size 4096 --key-size 512",
        "--pbkdf argon2i --sector-size 2048 --key-size 256",
        "--pbkdf argon2id --pbkdf-parallel 4",
        "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 --hash sha512",
      })
  void whatItDecryptsIsWhatWasEncrypted(String options) throws Exception {
    TestLuks luks = TestLuks.format(folder, BYTES, PASSPHRASE, options.split(" "));
    int sector =
        Integer.parseInt(
            luks.run("luksDump", List.of()).replaceAll("(?s).*sector: ([0-9]+).*", "$1"));
    byte[] plain = new byte[(int) BYTES - TestLuks.OFFSET];
    new Random(5).nextBytes(plain);
    byte[] sealed = TestLuks.crypt(Cipher.ENCRYPT_MODE, luks.key(), plain, 0, sector);
    try (FileChannel channel =
        FileChannel.open(luks.file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(sealed), TestLuks.OFFSET);
      LuksVolume volume = open(channel, PASSPHRASE).orElseThrow();
      assertThat(volume.size()).isEqualTo(plain.length);
      for (int[] range : new int[][] {{0, 4096}, {511, 2}, {4095, 70_000}, {plain.length - 1, 1}}) {
        ByteBuffer read = ByteBuffer.allocate(range[1]);
        volume.read(range[0], read);
        assertThat(read.hasRemaining()).isFalse();
        assertThat(read.array())
            .isEqualTo(Arrays.copyOfRange(plain, range[0], range[0] + range[1]));
      }
      assertThat(open(channel, PASSPHRASE + "\n")).isEmpty();
      assertThat(open(channel, "")).isEmpty();
    }
  }

  @Test
  void aPassphraseInSlotOneOpensItAndOneInAnotherDoesNot() throws Exception {
    TestLuks luks = TestLuks.format(folder, BYTES, PASSPHRASE);
    Path next = folder.resolve("next");
    Path other = folder.resolve("other");
    Files.writeString(next, "of slot one");
    Files.writeString(other, "of slot five");
    String[] cheap = {"--pbkdf-force-iterations", "4", "--pbkdf-memory", "32768"};
    for (Object[] one : new Object[][] {{"1", next}, {"5", other}}) {
      List<String> options = new ArrayList<>(List.of(cheap));
      options.addAll(List.of("--key-slot", (String) one[0], "--new-keyfile", one[1].toString()));
      luks.run("luksAddKey", options);
    }
    try (FileChannel channel = FileChannel.open(luks.file())) {
      assertThat(open(channel, PASSPHRASE)).isPresent();
      assertThat(open(channel, "of slot one")).isPresent();
      assertThat(open(channel, "of slot five")).isEmpty();
    }
  }

  @Test
  void whatDriversDoNotMakeIsRefused() throws Exception {
    for (String options :
        new String[] {
          "--cipher aes-xts-plain",
          "--cipher aes-cbc-essiv:sha256",
          "--pbkdf-memory 65536",
          "--key-slot 3",
        }) {
      TestLuks luks = TestLuks.format(folder, BYTES, PASSPHRASE, options.split(" "));
      assertRefused(luks.file(), RefusalReason.UNSUPPORTED_FEATURE);
    }
    TestLuks older = TestLuks.format(folder, BYTES, PASSPHRASE);
    try (RandomAccessFile file = new RandomAccessFile(older.file().toFile(), "rw")) {
      file.setLength(20_000);
    }
    assertRefused(older.file(), RefusalReason.TRUNCATED);
  }

  private static void assertRefused(Path file, RefusalReason reason) throws IOException {
    try (FileChannel channel = FileChannel.open(file)) {
      assertThatThrownBy(() -> open(channel, PASSPHRASE))
          .isInstanceOfSatisfying(
              LuksRefusal.class, e -> assertThat(e.reason()).as(e.detail()).isEqualTo(reason));
    }
  }

  /** A bit anywhere in what the header says, or is known by, and it is not believed. */
  @Test
  void aDamagedHeaderIsRefused() throws Exception {
    TestLuks luks = TestLuks.format(folder, BYTES, PASSPHRASE);
    Path damaged = folder.resolve("damaged");
    Random random = new Random(3);
    for (int i = 0; i < 200; i++) {
      Files.copy(luks.file(), damaged, StandardCopyOption.REPLACE_EXISTING);
      int at = random.nextInt(32 << 10);
      try (RandomAccessFile file = new RandomAccessFile(damaged.toFile(), "rw")) {
        file.seek(at);
        int is = file.read();
        file.seek(at);
        file.write(is ^ 1 << random.nextInt(8));
      }
      try (FileChannel channel = FileChannel.open(damaged)) {
        boolean padding = at % (16 << 10) >= 448 + 32 && at % (16 << 10) < 512; // of the checksum
        if (padding) {
          assertThat(open(channel, PASSPHRASE)).isPresent();
        } else {
          assertThatThrownBy(() -> open(channel, PASSPHRASE)).isInstanceOf(LuksRefusal.class);
        }
      }
    }
  }

  /** No tenant makes the driver compute for minutes. */
  @Test
  void aDigestThatTakesLongIsRefused() throws Exception {
    TestLuks luks = TestLuks.format(folder, BYTES, PASSPHRASE);
    try (FileChannel channel = FileChannel.open(luks.file())) {
      LuksHeader header = LuksHeader.read(new FileDevice(channel, channel.size()));
      ObjectNode digest = (ObjectNode) header.json().at("/digests/0");
      LuksLayout.of(header, channel.size(), LuksLimits.OFFLINE);
      digest.put("digest", Base64.getEncoder().encodeToString(new byte[65]));
      assertThatThrownBy(() -> LuksLayout.of(header, channel.size(), LuksLimits.OFFLINE))
          .isInstanceOf(LuksRefusal.class);
      digest.put("digest", Base64.getEncoder().encodeToString(new byte[64]));
      LuksLayout.of(header, channel.size(), LuksLimits.OFFLINE);
      digest.put("iterations", 5_000_001);
      assertThatThrownBy(() -> LuksLayout.of(header, channel.size(), LuksLimits.OFFLINE))
          .isInstanceOf(LuksRefusal.class);
    }
  }

  /** The area of a slot has no checksum: a damaged one opens nothing. */
  @Test
  void aDamagedSlotOpensNothing() throws Exception {
    TestLuks luks = TestLuks.format(folder, BYTES, PASSPHRASE);
    try (FileChannel channel =
        FileChannel.open(luks.file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      assertThat(open(channel, PASSPHRASE)).isPresent();
      channel.write(ByteBuffer.wrap(new byte[16]), (32 << 10) + 100_000);
      assertThat(open(channel, PASSPHRASE)).isEmpty();
    }
  }

  @Test
  void freeRangesAreToldInWholeSectorsOfTheDevice() throws Exception {
    TestLuks luks = TestLuks.format(folder, BYTES, PASSPHRASE);
    try (FileChannel channel = FileChannel.open(luks.file())) {
      LuksVolume volume = open(channel, PASSPHRASE).orElseThrow();
      List<FreeRange> told = new ArrayList<>();
      for (FreeRange range :
          List.of(
              new FreeRange(0, 4096),
              new FreeRange(5 * 1024, 2048),
              new FreeRange(9 * 1024, 8 * 1024),
              new FreeRange(40 * 1024, 1024))) {
        volume.onDevice(told::add).visit(range);
      }
      assertThat(told)
          .containsExactly(
              new FreeRange(TestLuks.OFFSET, 4096),
              new FreeRange(TestLuks.OFFSET + 12 * 1024, 4096));
    }
  }
}
