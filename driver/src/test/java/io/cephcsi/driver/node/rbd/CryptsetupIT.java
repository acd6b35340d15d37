package io.cephcsi.driver.node.rbd;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.DeviceContent;
import io.cephcsi.driver.reclaim.luks.TestLuks;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The real cryptsetup on files, which needs no device mapper as long as nothing is opened. */
class CryptsetupIT {
  private static final long BYTES = 64 << 20;
  private static final Passphrase ONE = passphrase("one passphrase");
  private static final Passphrase TWO = passphrase("another, with a newline\nwithin");

  private static final String[] COSTLY = {
    "--pbkdf-memory", "65536", "--pbkdf-force-iterations", "4"
  };

  @TempDir private Path folder;
  private Path device;
  private Cryptsetup cryptsetup;

  private static Passphrase passphrase(String text) {
    return Passphrase.of(text.getBytes(UTF_8));
  }

  private static EncryptionRequest request(String... more) {
    Map<String, String> values = new HashMap<>(Map.of("encrypted", "true"));
    for (int i = 0; i < more.length; i += 2) {
      values.put(more[i], more[i + 1]);
    }
    return EncryptionRequest.parse("parameters", values).orElseThrow();
  }

  @BeforeEach
  void makeDevice() throws IOException {
    device = folder.resolve("device");
    Files.deleteIfExists(device);
    try (RandomAccessFile file = new RandomAccessFile(device.toFile(), "rw")) {
      file.setLength(BYTES);
    }
    cryptsetup = new Cryptsetup("a-volume", device, folder.resolve("secrets"));
  }

  private String dump() throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder("cryptsetup", "luksDump", device.toString())
            .redirectErrorStream(true)
            .start();
    String text = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    return text;
  }

  @Test
  void aFormatIsAsCephCsiMakesIt() throws Exception {
    cryptsetup.format(request(), ONE);
    assertThat(DeviceContent.of(device)).isEqualTo("crypto_LUKS");
    String dump = dump();
    assertThat(dump).containsPattern("Version:\\s+2").contains("aes-xts-plain64", "sha256");
    assertThat(dump).containsPattern("Memory:\\s+32768").containsPattern("offset: 16777216");
    assertThat(cryptsetup.isOpenedBy(ONE)).isTrue();
    assertThat(cryptsetup.isOpenedBy(passphrase("one passphrase\n"))).isFalse();
    assertThat(cryptsetup.isOpenedBy(TWO)).isFalse();
  }

  @Test
  void whatTheClassAsksForIsInTheHeader() throws Exception {
    cryptsetup.format(
        request(
            "encryptionCipher", "aes-xts-plain64",
            "encryptionKeySize", "256",
            "encryptionSectorSize", "4096"),
        TWO);
    assertThat(dump())
        .contains("aes-xts-plain64")
        .containsPattern("sector: 4096")
        .containsPattern("Key:\\s+256 bits");
    assertThat(cryptsetup.isOpenedBy(TWO)).isTrue();
  }

  /** The steps of a rotation; after each of them what the KMS has opens the volume. */
  @Test
  void aPassphraseIsReplacedSlotBySlot() throws Exception {
    cryptsetup.format(request(), ONE);
    for (Passphrase[] pair : new Passphrase[][] {{ONE, TWO}, {TWO, ONE}}) {
      try (HeaderCopy before = cryptsetup.header()) {
        int slot = before.slotOf(pair[0]).orElseThrow();
        cryptsetup.removeSlot(1 - slot, pair[0]); // there is none
        cryptsetup.addTo(1 - slot, pair[0], pair[1]);
        try (HeaderCopy both = cryptsetup.header()) {
          assertThat(both.hasKeyOf(before)).isTrue();
          assertThat(both.isOpenedBy(pair[0], slot)).isTrue();
          assertThat(both.isOpenedBy(pair[1], 1 - slot)).isTrue();
          assertThat(both.isOpenedBy(pair[1], slot)).isFalse();
        }
        assertThatThrownBy(() -> cryptsetup.addTo(1 - slot, pair[0], pair[1]))
            .isInstanceOf(CommandException.class);
        cryptsetup.removeSlot(slot, pair[1]);
        try (HeaderCopy after = cryptsetup.header()) {
          assertThat(after.slotOf(pair[0])).isEmpty();
          assertThat(after.slotOf(pair[1])).hasValue(1 - slot);
        }
      }
    }
    assertThat(folder.resolve("secrets")).isEmptyDirectory();
  }

  /**
   * What a format leaves that is killed: never something that its passphrase opens, unless whole.
   */
  @Test
  void aFormatThatIsKilledLeavesNothingBehindItsHeader() throws Exception {
    Random random = new Random(7);
    int opened = 0;
    int cut = 0;
    for (int i = 0; i < 12; i++) {
      makeDevice();
      Process process =
          new ProcessBuilder(
                  "cryptsetup",
                  "-q",
                  "luksFormat",
                  "--type",
                  "luks2",
                  "--pbkdf-memory",
                  "32768",
                  "--key-file=-",
                  device.toString())
              .redirectErrorStream(true)
              .start();
      process.getOutputStream().write(ONE.bytes());
      process.getOutputStream().close();
      // The first is let end, the second is killed at once.
      long wait = i == 0 ? 120_000 : i == 1 ? 1 : random.nextInt(2500);
      boolean ended = process.waitFor(wait, TimeUnit.MILLISECONDS);
      process.destroyForcibly().waitFor();
      try (RandomAccessFile file = new RandomAccessFile(device.toFile(), "r")) {
        byte[] data = new byte[(int) BYTES - (16 << 20)];
        file.seek(16 << 20);
        file.readFully(data);
        assertThat(Arrays.equals(data, new byte[data.length]))
            .as("zero behind the header")
            .isTrue();
      }
      String kind = DeviceContent.of(device);
      assertThat(kind).isIn("", "crypto_LUKS");
      assertThat(!ended || kind.equals("crypto_LUKS")).isTrue();
      if (kind.equals("crypto_LUKS") && cryptsetup.isOpenedBy(ONE)) {
        opened++;
        try (HeaderCopy header = cryptsetup.header()) {
          assertThat(header.slotOf(ONE)).hasValue(0);
        }
      } else {
        cut++;
      }
    }
    assertThat(opened).as("formats that had ended").isPositive();
    assertThat(cut).as("formats that were cut off").isPositive();
  }

  /** A format that takes a tenth of the time. */
  private void header(Passphrase passphrase) throws IOException {
    Files.write(
        device, Files.readAllBytes(TestLuks.format(folder, BYTES, passphrase.text()).file()));
  }

  private byte[] content() throws IOException {
    return Files.readAllBytes(device);
  }

  /** cryptsetup would ask the kernel's keyring for a passphrase before it reads its input. */
  @Test
  void aHeaderThatOpensByAnotherPassphraseIsRefusedBeforeCryptsetupSeesIt() throws Exception {
    header(ONE);
    shell("cryptsetup token add --key-description of-another " + device);
    assertThat(dump()).contains("luks2-keyring");
    byte[] before = content();
    for (ThrowingCallable use :
        List.<ThrowingCallable>of(
            () -> cryptsetup.isOpenedBy(ONE),
            () -> cryptsetup.open(ONE, false, false),
            () -> cryptsetup.resize(),
            () -> cryptsetup.removeSlot(1, ONE),
            () -> cryptsetup.header())) {
      assertRefused(use, "a token");
    }
    assertThat(content()).isEqualTo(before);
    assertThat(folder.resolve("secrets")).doesNotExist();
  }

  @Test
  void aSlotWithACipherThatDoesNothingIsRefused() throws Exception {
    header(ONE);
    TestLuks.rewrite(
        device,
        json ->
            json.replace(
                "\"size\":\"258048\",\"encryption\":\"aes-xts-plain64\"",
                "\"size\":\"258048\",\"encryption\":\"cipher_null-ecb\""));
    assertThat(dump()).contains("cipher_null");
    assertRefused(() -> cryptsetup.open(TWO, false, false), "slot of LUKS");
    assertRefused(() -> cryptsetup.isOpenedBy(TWO), "slot of LUKS");
  }

  private static void assertRefused(ThrowingCallable use, String says) {
    assertThatThrownBy(use)
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining(says)
        .hasMessageContaining("nothing was changed");
  }

  @Test
  void aDeviceWithoutLuksIsNotOpenedAndNoReasonToFail() {
    assertThat(cryptsetup.isOpenedBy(ONE)).isFalse();
    assertRefused(() -> cryptsetup.open(ONE, false, false), "cannot be decrypted");
  }

  /** What is checked is what is used, and it is gone afterwards. */
  @Test
  void aHeaderThatIsChangedAfterItWasCheckedHasNoEffect() throws Exception {
    header(ONE);
    try (HeaderCopy checked = cryptsetup.header()) {
      header(TWO);
      assertThat(checked.isOpenedBy(ONE)).isTrue();
      assertThat(checked.isOpenedBy(TWO)).isFalse();
      assertThat(cryptsetup.isOpenedBy(TWO)).isTrue();
      try (HeaderCopy other = cryptsetup.header()) {
        assertThat(other.hasKeyOf(checked)).isFalse();
      }
      assertThat(folder.resolve("secrets")).isNotEmptyDirectory();
    }
    assertThat(folder.resolve("secrets")).isEmptyDirectory();
  }

  /** A rotation looks whether what cryptsetup wrote is still of its volume. */
  @Test
  void aPassphraseThatWasAddedToAnotherHeaderIsNotTaken() throws Exception {
    header(ONE);
    try (HeaderCopy before = cryptsetup.header()) {
      header(ONE); // by somebody who knows the new volume key
      cryptsetup.addTo(1, ONE, TWO);
      try (HeaderCopy after = cryptsetup.header()) {
        assertThat(after.isOpenedBy(TWO, 1)).isTrue();
        assertThat(after.hasKeyOf(before)).isFalse();
      }
    }
  }

  @Test
  void aCopyOfTheHeaderThatWasLostIsWrittenAgain() throws Exception {
    header(ONE);
    byte[] whole = content();
    for (int at : new int[] {5000, (16 << 10) + 5000}) {
      try (RandomAccessFile file = new RandomAccessFile(device.toFile(), "rw")) {
        file.seek(at);
        file.write(1);
      }
      assertThat(cryptsetup.isOpenedBy(ONE)).isTrue();
      try (HeaderCopy header = cryptsetup.header()) {
        assertThat(header.isSame()).isFalse();
      }
      cryptsetup.mend();
      try (HeaderCopy header = cryptsetup.header()) {
        assertThat(header.isSame()).isTrue();
      }
      assertThat(cryptsetup.isOpenedBy(ONE)).isTrue();
    }
    assertThat(content()).hasSize(whole.length);
  }

  /** Six of 64 MiB, of which two fit; a usual one waits for none of them. */
  @Test
  void headersThatAskForMuchMemoryShareIt() throws Exception {
    header(ONE);
    Path costly = TestLuks.format(folder, BYTES, ONE.text(), COSTLY).file();
    KeyMemory memory = new KeyMemory(150 << 20, Duration.ofMinutes(2));
    ExecutorService threads = Executors.newFixedThreadPool(6);
    try {
      List<Future<Boolean>> opened = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        String volume = "costly-" + i;
        Cryptsetup one = new Cryptsetup(volume, costly, folder.resolve("secrets"), memory);
        opened.add(threads.submit(() -> one.isOpenedBy(ONE)));
      }
      long most = 0;
      while (!opened.stream().allMatch(Future::isDone)) {
        most = Math.max(most, programs());
        TimeUnit.MILLISECONDS.sleep(10);
      }
      for (Future<Boolean> each : opened) {
        assertThat(each.get()).isTrue();
      }
      assertThat(most).isBetween(1L, 2L);
    } finally {
      threads.shutdownNow();
    }
    Cryptsetup usual = new Cryptsetup("usual", device, folder.resolve("secrets"), memory);
    assertThat(memory.<Boolean>during(150 << 10, () -> usual.isOpenedBy(ONE))).isTrue();
    Cryptsetup late =
        new Cryptsetup("late", costly, folder.resolve("secrets"), new KeyMemory(1, Duration.ZERO));
    assertThat(late.isOpenedBy(ONE)).as("one is always allowed").isTrue();
  }

  /** All that make a key of a passphrase by such a header wait for memory. */
  @Test
  void whatMakesKeysByACostlyHeaderWaits() throws Exception {
    Path costly = TestLuks.format(folder, BYTES, ONE.text(), COSTLY).file();
    KeyMemory memory = new KeyMemory(100 << 20, Duration.ofMillis(50));
    Cryptsetup one = new Cryptsetup("costly", costly, folder.resolve("secrets"), memory);
    byte[] before = Files.readAllBytes(costly);
    try (HeaderCopy header = one.header()) {
      for (ThrowingCallable use :
          List.<ThrowingCallable>of(
              () -> one.isOpenedBy(ONE),
              () -> one.open(ONE, false, false),
              () -> one.addTo(1, ONE, TWO),
              () -> one.removeSlot(0, ONE),
              () -> header.slotOf(ONE),
              () -> header.isOpenedBy(ONE, 0))) {
        memory.during(
            100 << 10,
            () ->
                assertThatThrownBy(use)
                    .isInstanceOfSatisfying(
                        VolumeException.class,
                        e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE)));
      }
      assertThat(header.slotOf(ONE)).hasValue(0);
    }
    assertThat(Files.readAllBytes(costly)).isEqualTo(before);
  }

  private static long programs() {
    return ProcessHandle.current()
        .children()
        .filter(
            process ->
                process.isAlive()
                    && process.info().command().filter(c -> c.endsWith("/cryptsetup")).isPresent())
        .count();
  }

  /** The page cache of this node does not know of it. */
  @Test
  void whatAnotherNodeWroteIsRead() throws Exception {
    header(ONE);
    String loop = shell("losetup --show -f " + device).strip();
    try (FileChannel held = FileChannel.open(Path.of(loop), StandardOpenOption.READ)) {
      Cryptsetup onLoop = new Cryptsetup("a-volume", Path.of(loop), folder.resolve("secrets"));
      assertThat(held.read(ByteBuffer.allocate(1 << 20), 0)).isPositive();
      assertThat(onLoop.isOpenedBy(ONE)).isTrue();
      header(TWO);
      assertThat(onLoop.isOpenedBy(ONE)).isFalse();
      assertThat(onLoop.isOpenedBy(TWO)).isTrue();
    } finally {
      shell("losetup -d " + loop);
    }
  }

  private static String shell(String command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command.split(" ")).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    assertThat(process.exitValue()).as(said).isZero();
    return said;
  }

  @Test
  void aPassphraseReachesNoCommandLine() {
    assertThat(new String(ONE.bytes(), ISO_8859_1)).isEqualTo("one passphrase");
    assertThatThrownBy(
            () -> new Cryptsetup("v", folder.resolve("gone"), folder).format(request(), ONE))
        .isInstanceOf(CommandException.class)
        .hasMessageContaining("luksFormat")
        .hasMessageNotContaining("one passphrase");
  }
}
