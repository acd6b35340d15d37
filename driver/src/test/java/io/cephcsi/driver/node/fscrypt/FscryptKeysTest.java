package io.cephcsi.driver.node.fscrypt;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.linux.EncryptionPolicy;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.kms.KeyDerivation;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FscryptKeysTest {
  private static final HashCosts CHEAP = new HashCosts(1, 64, 1);
  private static final byte[] PASSPHRASE = "a passphrase".getBytes(UTF_8);

  private static byte[] counted(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) i;
    }
    return bytes;
  }

  @Test
  void keysHaveTheNamesThatKernelAndFscryptGiveThem() {
    assertThat(FscryptKeys.descriptor(counted(64))).isEqualTo("04334e23057a6e2d");
    assertThat(FscryptKeys.identifier(counted(64))).isEqualTo("8699c2c53707405da5aba5ae4d8583c0");
  }

  /** RFC 5869, test case 3: no salt, no info. */
  @Test
  void hkdfIsThatOfItsRfc() {
    byte[] key = new byte[22];
    Arrays.fill(key, (byte) 0x0b);
    assertThat(HexFormat.of().formatHex(FscryptKeys.hkdf("HmacSHA256", key, new byte[0], 42)))
        .isEqualTo(
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
                + "9d201395faa4b61a96c8");
  }

  @Test
  void aKeyIsUnwrappedOnlyByTheOneThatWrappedIt() throws IOException {
    WrappedKey wrapped = WrappedKey.wrap(counted(32), counted(64), counted(16));
    assertThat(wrapped.unwrap(counted(32)))
        .hasValueSatisfying(key -> assertThat(key).isEqualTo(counted(64)));
    assertThat(wrapped.unwrap(new byte[32])).isEmpty();
    WrappedKey read = WrappedKey.read(ProtoFields.read(wrapped.encode()), 64);
    assertThat(read.unwrap(counted(32))).isPresent();
    for (int part = 0; part < 3; part++) {
      byte[][] parts = {read.iv().clone(), read.encrypted().clone(), read.hmac().clone()};
      parts[part][3] ^= 1;
      assertThat(new WrappedKey(parts[0], parts[1], parts[2]).unwrap(counted(32))).isEmpty();
    }
    assertThatThrownBy(() -> WrappedKey.read(ProtoFields.read(wrapped.encode()), 32))
        .isInstanceOf(IOException.class);
  }

  @Test
  void aProtectorIsOpenedByItsPassphrase() throws IOException {
    Protector made = Protector.make(PASSPHRASE, false, counted(32), CHEAP);
    Protector read = Protector.read(made.encode());
    assertThat(read.descriptor()).isEqualTo(FscryptKeys.descriptor(counted(32)));
    assertThat(read.name()).isEqualTo("ceph-csi");
    assertThat(read.costs()).contains(CHEAP);
    assertThat(read.open(PASSPHRASE))
        .hasValueSatisfying(key -> assertThat(key).isEqualTo(counted(32)));
    assertThat(read.open("another".getBytes(UTF_8))).isEmpty();
  }

  /** Some versions of ceph-csi took 32 bytes of a passphrase, filled up by zeroes. */
  @Test
  void aPassphraseIsAlsoTriedAsOtherVersionsTookIt() {
    byte[] filled = Arrays.copyOf(PASSPHRASE, 32);
    assertThat(Protector.make(filled, false, counted(32), CHEAP).open(PASSPHRASE)).isPresent();
    byte[] text = "0123456789".repeat(9).getBytes(UTF_8);
    Protector raw = Protector.make(text, true, counted(32), CHEAP);
    assertThat(raw.costs()).isEmpty();
    assertThat(raw.open(text)).isPresent();
    assertThat(raw.open(Arrays.copyOf(text, 32))).isPresent();
    assertThat(raw.open(Arrays.copyOf(text, 31))).isEmpty();
    assertThat(Protector.make(PASSPHRASE, true, counted(32), CHEAP).open(PASSPHRASE)).isPresent();
  }

  /** It may take minutes, as somebody else has written into a volume. */
  @Test
  @Timeout(60)
  void aVolumeThatTakesLongHoldsUpNoUsualOne() throws Exception {
    HashCosts costly = new HashCosts(64, 64 << 10, 1);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    Deadline ample = Deadline.after(Duration.ofSeconds(50));
    Thread long1 =
        new Thread(
            () ->
                KeyDerivation.inTurn(
                    costly.memoryKib(),
                    costly.time(),
                    ample,
                    () -> {
                      begun.countDown();
                      return isDown(end);
                    }));
    Thread long2 = new Thread(() -> FscryptKeys.argon2id(PASSPHRASE, counted(16), costly));
    long2.setUncaughtExceptionHandler((thread, e) -> {}); // it is interrupted below
    long1.start();
    try {
      assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
      long2.start();
      Protector made = Protector.make(PASSPHRASE, false, counted(32), HashCosts.USUAL);
      assertThat(made.open(PASSPHRASE)).isPresent();
      Awaitility.await().until(() -> long2.getState() == Thread.State.TIMED_WAITING);
    } finally {
      long2.interrupt();
      long2.join();
      end.countDown();
      long1.join();
    }
  }

  private static boolean isDown(CountDownLatch latch) {
    try {
      return latch.await(40, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aPolicyIsReadAsItIsWritten() throws IOException {
    Policy policy =
        Policy.of(
            EncryptionPolicy.usual("8699c2c53707405da5aba5ae4d8583c0"),
            "04334e23057a6e2d",
            WrappedKey.wrap(counted(32), counted(64)));
    Policy read = Policy.read(policy.encode());
    assertThat(read.descriptor()).isEqualTo(policy.descriptor());
    assertThat(read.padding()).isEqualTo(32);
    assertThat(read.contents()).isEqualTo(1);
    assertThat(read.names()).isEqualTo(4);
    assertThat(read.version()).isEqualTo(2);
    assertThat(read.keys()).hasSize(1);
    assertThat(read.keys().get(0).protector()).isEqualTo("04334e23057a6e2d");
    assertThat(read.keys().get(0).key().unwrap(counted(32))).isPresent();
  }

  @ParameterizedTest
  @CsvSource({
    "0,64,1,1",
    "1,7,1,1",
    "1,64,0,1",
    "1,64,256,1",
    "1,131073,1,1",
    "2000000000,131072,1,1",
    "1,64,9,1",
    "1,64,256,0"
  })
  void costsThatCannotBeOrCostTooMuchAreRefused(int time, int memory, int lanes, int fixed) {
    byte[] costs =
        new ProtoFields.Writer()
            .number(2, time)
            .number(3, memory)
            .number(4, lanes)
            .number(5, fixed)
            .toBytes();
    assertThatThrownBy(() -> HashCosts.read(ProtoFields.read(costs)))
        .isInstanceOf(IOException.class);
  }

  /** Bytes that fscrypt 0.3.3 wrote. */
  @Test
  void costsAreThoseOfTheProgram() throws IOException {
    byte[] costs = HexFormat.of().parseHex("10021880402002");
    assertThat(HashCosts.read(ProtoFields.read(costs))).isEqualTo(new HashCosts(2, 8192, 2));
    assertThat(new HashCosts(2, 8192, 2).encode()).isEqualTo(costs);
  }

  @Test
  void costsOfOldVersionsAreWhatThoseTook() throws IOException {
    byte[] costs = new ProtoFields.Writer().number(2, 3).number(3, 4096).number(4, 258).toBytes();
    assertThat(HashCosts.read(ProtoFields.read(costs))).isEqualTo(new HashCosts(3, 4096, 2));
  }

  @ParameterizedTest
  @CsvSource({"0a05616263", "0a", "08", "00ff", "0b", "08ffffffffffffffffffff01", "0affffffff0f"})
  void whatIsNoMessageIsRefused(String hex) {
    assertThatThrownBy(() -> ProtoFields.read(HexFormat.of().parseHex(hex)))
        .isInstanceOf(IOException.class);
  }

  /** Each answer is a protector, or an IOException. */
  @Test
  void damagedProtectorsAndPoliciesThrowNothingElse() {
    Random random = new Random(7);
    byte[] protector = Protector.make(PASSPHRASE, true, counted(32), CHEAP).encode();
    byte[] policy =
        Policy.of(
                EncryptionPolicy.usual("8699c2c53707405da5aba5ae4d8583c0"),
                "04334e23057a6e2d",
                WrappedKey.wrap(counted(32), counted(64)))
            .encode();
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] damaged = (i % 2 == 0 ? protector : policy).clone();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
      }
      byte[] cut =
          Arrays.copyOf(
              damaged, random.nextInt(8) == 0 ? random.nextInt(damaged.length) : damaged.length);
      refused += isRefused(cut, i % 2 == 0) ? 1 : 0;
    }
    assertThat(refused).isGreaterThan(1000);
  }

  private static boolean isRefused(byte[] bytes, boolean protector) {
    try {
      return (protector ? Optional.of(Protector.read(bytes)) : Optional.of(Policy.read(bytes)))
          .isEmpty();
    } catch (IOException e) {
      return true;
    }
  }
}
