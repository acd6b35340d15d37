package io.cephcsi.driver.reclaim.luks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers of the real cryptsetup, and what somebody may make of them. */
class LuksRegionIT {
  private static final long BYTES = 24 << 20;
  private static final int COPY = 16 << 10;
  private static final String PASSPHRASE = "a passphrase";

  @TempDir private Path folder;
  private Path file;

  @BeforeEach
  void format() {
    file = TestLuks.format(folder, BYTES, PASSPHRASE).file();
  }

  private static LuksRegion read(Path file) throws IOException, LuksRefusal {
    try (FileChannel channel = FileChannel.open(file)) {
      return LuksRegion.read(new FileDevice(channel, channel.size()));
    }
  }

  private static boolean opens(Path file) throws IOException, LuksRefusal {
    try (FileChannel channel = FileChannel.open(file)) {
      return LuksVolume.open(new FileDevice(channel, channel.size()), PASSPHRASE.getBytes(UTF_8))
          .isPresent();
    }
  }

  private void assertRefused(String says) {
    assertThatThrownBy(() -> read(file))
        .isInstanceOfSatisfying(
            LuksRefusal.class,
            e -> {
              assertThat(e.detail()).contains(says);
              assertThat(e.reason()).isEqualTo(RefusalReason.UNSUPPORTED_FEATURE);
            });
  }

  /** Small, whole, and what was checked. */
  private Path copied(LuksRegion region) throws IOException {
    try (FileChannel channel = FileChannel.open(file)) {
      return copied(region, new FileDevice(channel, channel.size()));
    }
  }

  private Path copied(LuksRegion region, BlockReader device) throws IOException {
    Path copy = folder.resolve("copy");
    Files.deleteIfExists(copy);
    try (FileChannel channel =
        FileChannel.open(copy, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      region.writeTo(device, channel);
    }
    return copy;
  }

  @Test
  void itsCopyOpensAsTheDeviceDoesAndHasNothingElse() throws Exception {
    try (RandomAccessFile device = new RandomAccessFile(file.toFile(), "rw")) {
      device.seek(8 << 20); // in the header's region, and in no slot
      device.write(1);
      device.seek(TestLuks.OFFSET);
      device.write(1);
    }
    LuksRegion region = read(file);
    assertThat(region.isSame()).isTrue();
    assertThat(region.hasSlot(0)).isTrue();
    assertThat(region.hasSlot(1)).isFalse();
    Path copy = copied(region);
    assertThat(opens(file)).isTrue();
    assertThat(opens(copy)).isTrue();
    byte[] bytes = Files.readAllBytes(copy);
    assertThat(bytes).hasSize(TestLuks.OFFSET);
    assertThat(bytes[8 << 20]).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--key-size 256 --sector-size 4096",
        "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 --hash sha512",
        "--key-slot 5",
        "--luks2-metadata-size 4096k --luks2-keyslots-size 8192k",
      })
  void whatDriversMakeIsTaken(String options) throws Exception {
    Path made = TestLuks.format(folder, BYTES, PASSPHRASE, options.split(" ")).file();
    LuksRegion region = read(made);
    assertThat(region.hasKeyOf(read(made))).isTrue();
    assertThat(region.hasKeyOf(read(file))).isFalse();
    assertThat(region.hasSlot(5)).isEqualTo(options.endsWith("5"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        // what opens it without the passphrase
        "\"tokens\":{}|\"tokens\":{\"0\":{\"type\":\"luks2-keyring\",\"keyslots\":[\"0\"],"
            + "\"key_description\":\"k\"}}|token",
        "\"size\":\"258048\",\"encryption\":\"aes-xts-plain64\""
            + "|\"size\":\"258048\",\"encryption\":\"cipher_null-ecb\"|slot of LUKS is of a kind",
        "\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\""
            + "|\"iv_tweak\":\"0\",\"encryption\":\"cipher_null-ecb\"|data of LUKS are not",
        "\"keyslots\":[\"0\"]|\"keyslots\":[]|not for its data",
        // costs
        "\"memory\":32768|\"memory\":1048577|too much",
        "\"memory\":32768|\"memory\":9999999999|too much",
        "\"time\":4|\"time\":2049|too much",
        "\"cpus\":|\"cpus\":99|wrong number as cpus",
        "\"iterations\":|\"iterations\":999999|too much",
        // others
        "\"type\":\"luks2\"|\"type\":\"reencrypt\"|kind",
        "\"stripes\":4000|\"stripes\":1|kind",
        "\"key_size\":64|\"key_size\":1|key_size",
        "\"type\":\"raw\",\"offset\":\"32768\"|\"type\":\"raw\",\"offset\":\"16777216\"|offset",
        "\"type\":\"crypt\",\"offset\":\"16777216\"|\"type\":\"crypt\",\"offset\":\"0\"|offset",
        "\"type\":\"crypt\"|\"type\":\"linear\"|data of LUKS are not",
        "\"segments\":{|\"segments\":{\"1\":{\"type\":\"crypt\"},|one segment",
        "\"digests\":{|\"digests\":{\"1\":{\"type\":\"pbkdf2\"},|one digest",
        "\"config\":{|\"config\":{\"requirements\":{\"mandatory\":[\"x\"]},|requirements",
        "\"config\":{|\"config\":{\"requirements\":{\"mandatory\":\"x\"},|requirements",
        "\"config\":{|\"config\":{\"flags\":[\"allow-discards\"],|flag",
        "\"tokens\":{}|\"tokens\":{},\"more\":{}|part that is not known",
      })
  void whatNoDriverMakesIsRefused(String is, String becomes, String says) throws Exception {
    assertThat(read(file)).isNotNull();
    TestLuks.rewrite(
        file,
        json -> {
          assertThat(json).contains(is);
          return json.replace(is, becomes);
        });
    assertRefused(says);
  }

  /** What is the last of two for one reader of JSON may be the first for another. */
  @ParameterizedTest
  @ValueSource(strings = {"\"tokens\":{\"0\":{}},", "\"tokens\\u0000\":{\"0\":{}},"})
  void namesThatAreThereTwiceAreNotRead(String more) throws Exception {
    TestLuks.rewrite(file, json -> "{" + more + json.substring(1));
    assertThatThrownBy(() -> read(file)).isInstanceOf(LuksRefusal.class);
  }

  /** To make it here, the kernel would have to have the cipher. */
  @Test
  void theOtherCipherOfStorageClassesIsTaken() throws Exception {
    TestLuks.rewrite(file, json -> json.replace("aes-xts-plain64", "serpent-xts-plain64"));
    assertThat(read(file)).isNotNull();
  }

  /** All on one area: the header of 16 KiB would let the driver read 33 times as much. */
  @Test
  void moreSlotsThanCryptsetupMakesAreRefused() throws Exception {
    TestLuks.rewrite(file, json -> withSlots(json, 32));
    assertThat(read(file).hasSlot(31)).isTrue();
    TestLuks.rewrite(file, json -> withSlots(json, 33));
    assertRefused("more than 32 slots");
  }

  /**
   * Many volumes are opened at once, and cryptsetup takes minutes for a header that asks for it.
   */
  @Test
  void slotsAreInMemoryOneByOneAndOnlyWhileTheyAreCopied() throws Exception {
    TestLuks.rewrite(file, json -> withSlots(json, 32));
    try (FileChannel channel = FileChannel.open(file)) {
      List<Integer> lengths = new ArrayList<>();
      BlockReader device =
          new BlockReader() {
            private final BlockReader all = new FileDevice(channel, channel.size());

            @Override
            public long size() {
              return all.size();
            }

            @Override
            public void read(long offset, ByteBuffer into) throws IOException {
              lengths.add(into.remaining());
              all.read(offset, into);
            }
          };
      LuksRegion region = LuksRegion.read(device);
      assertThat(lengths).allMatch(length -> length <= COPY);
      lengths.clear();
      copied(region, device);
      assertThat(lengths).hasSize(32).containsOnly(64 * 4000);
      assertThat(region.hasSlot(31)).isTrue();
      assertThatThrownBy(() -> copied(region, device)).isInstanceOf(IllegalStateException.class);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "--pbkdf-memory 65536, 65536",
    "--pbkdf pbkdf2 --pbkdf-force-iterations 1000, 0",
    "--key-slot 1, 32768"
  })
  void itTellsHowMuchMemoryItsSlotsTake(String options, int kib) throws Exception {
    TestLuks made = TestLuks.format(folder, BYTES, PASSPHRASE, options.split(" "));
    assertThat(read(made.file()).memoryKib()).isEqualTo(kib);
  }

  @Test
  void theSlotThatTakesMostMemoryCounts() throws Exception {
    TestLuks.rewrite(
        file,
        json ->
            withSlots(json, 3)
                .replaceFirst("\"memory\":32768(?=.*\"memory\")", "\"memory\":999424"));
    assertThat(read(file).memoryKib()).isEqualTo(999_424);
  }

  private static String withSlots(String json, int slots) {
    try {
      ObjectNode header = (ObjectNode) Json.mapper().readTree(json);
      ObjectNode all = (ObjectNode) header.path("keyslots");
      ArrayNode named = ((ObjectNode) header.path("digests").path("0")).putArray("keyslots");
      for (int slot = 0; slot < slots; slot++) {
        all.set(Integer.toString(slot), all.get("0"));
        named.add(Integer.toString(slot));
      }
      return header.toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void costsOfALargeMachineAreTaken() throws Exception {
    TestLuks.rewrite(
        file,
        json ->
            json.replace("\"memory\":32768", "\"memory\":1048576")
                .replace("\"time\":4", "\"time\":64")
                .replaceAll("\"cpus\":[0-9]+", "\"cpus\":4")
                .replaceAll("\"iterations\":[0-9]+", "\"iterations\":50000000"));
    assertThat(read(file)).isNotNull();
  }

  @Test
  void dataThatBeginFarBehindAreRefused() throws Exception {
    Path far = TestLuks.format(folder, 96 << 20, PASSPHRASE, "--offset", "131080").file();
    file = far;
    assertRefused("begin behind");
    assertThat(read(TestLuks.format(folder, 96 << 20, PASSPHRASE, "--offset", "131072").file()))
        .isNotNull();
  }

  @Test
  void theOlderFormatIsRefused() {
    file =
        TestLuks.format(
                folder, BYTES, PASSPHRASE, "--type", "luks1", "--pbkdf-force-iterations", "1000")
            .file();
    assertRefused("version 1");
  }

  private void damage(int at) throws IOException {
    try (RandomAccessFile device = new RandomAccessFile(file.toFile(), "rw")) {
      device.seek(at);
      int is = device.read();
      device.seek(at);
      device.write(is ^ 1);
    }
  }

  /** A crash between the two writes of cryptsetup leaves one that is older, or not whole. */
  @Test
  void theCopyThatIsWholeIsTaken() throws Exception {
    for (int at : new int[] {0, 300, 5000, COPY, COPY + 300, COPY + 5000}) {
      damage(at);
      LuksRegion region = read(file);
      assertThat(region.isSame()).isFalse();
      assertThat(opens(copied(region))).as("copies that are the same").isTrue();
      damage(at);
      assertThat(read(file).isSame()).isTrue();
    }
    damage(5000);
    damage(COPY + 5000);
    assertThatThrownBy(() -> read(file))
        .isInstanceOfSatisfying(
            LuksRefusal.class,
            e -> assertThat(e.reason()).isNotEqualTo(RefusalReason.UNSUPPORTED_FEATURE));
  }

  /** The one that was written last, as cryptsetup does. */
  @Test
  void ofTwoCopiesTheLaterIsTaken() throws Exception {
    byte[] before = Files.readAllBytes(file);
    TestLuks other = TestLuks.format(folder, BYTES, PASSPHRASE);
    other.run("config", List.of("--priority", "prefer", "--key-slot", "0"));
    byte[] later = Files.readAllBytes(other.file());
    for (int newer : new int[] {0, 1}) {
      byte[] mixed = before.clone();
      System.arraycopy(later, newer * COPY, mixed, newer * COPY, COPY);
      Files.write(file, mixed);
      assertThat(read(file).hasKeyOf(read(other.file()))).isTrue();
    }
  }

  @Test
  void whatHasNoSlotYetIsNotRefusedForWhatItIs() throws Exception {
    UnaryOperator<String> none =
        json -> json.replaceAll("\"keyslots\":\\{.*\\},\"tokens\"", "\"keyslots\":{},\"tokens\"");
    TestLuks.rewrite(file, none);
    assertThatThrownBy(() -> read(file))
        .isInstanceOfSatisfying(
            LuksRefusal.class,
            e -> assertThat(e.reason()).isNotEqualTo(RefusalReason.UNSUPPORTED_FEATURE));
  }

  /** Whatever is in it, it is refused or read, and never anything else. */
  @Test
  void bitsAreChangedAnywhereUnderRightChecksums() throws Exception {
    Path changed = folder.resolve("changed");
    Random random = new Random(9);
    for (int i = 0; i < 300; i++) {
      Files.copy(file, changed, StandardCopyOption.REPLACE_EXISTING);
      TestLuks.rewrite(
          changed,
          json -> {
            StringBuilder text = new StringBuilder(json);
            int at = random.nextInt(text.length());
            text.setCharAt(at, (char) (' ' + random.nextInt(95)));
            return text.toString();
          });
      try {
        assertThat(read(changed)).isNotNull();
      } catch (LuksRefusal e) {
        assertThat(e.detail()).isNotEmpty();
      }
    }
  }

  /** As ceph-csi formats from 3.15 on. */
  @Test
  void theLargestHeaderIsReadAndCopiedAsCryptsetupTakesIt() throws Exception {
    TestLuks large =
        TestLuks.format(
            folder,
            BYTES,
            PASSPHRASE,
            "--luks2-metadata-size",
            "4096k",
            "--luks2-keyslots-size",
            "8192k");
    file = large.file();
    assertThat(read(file).isSame()).isTrue();
    assertThat(opens(file)).isTrue();
    for (int at : new int[] {5000, (4 << 20) + 5000}) {
      damage(at);
      LuksRegion region = read(file);
      assertThat(region.isSame()).isFalse();
      Path copy = copied(region);
      assertThat(Files.size(copy)).isEqualTo(TestLuks.OFFSET);
      assertThat(opens(copy)).isTrue();
      large.run(
          "open", List.of("--test-passphrase", "--type", "luks2", "--header", copy.toString()));
      damage(at);
    }
    damage(1 << 20);
    assertRefused("more than its first");
  }
}
