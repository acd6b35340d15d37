package io.cephcsi.driver.node.rbd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateRequest;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationControllerGrpc;
import io.cephcsi.proto.csi.v1.Volume;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.bouncycastle.crypto.generators.SCrypt;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Encrypted volumes that ceph-csi made, and that it opens afterwards. It is not there: what it does
 * is done here as its layout is known, with nothing of the driver: the journal, the metadata of the
 * image, the wrapped passphrase, and its commands of rbd and cryptsetup. Run where the kernel has
 * rbd and dm-crypt: by NodeInMachineIT.
 */
public class EncryptedGoldenNode extends NodeRbdCase {
  private static final String STATE = "rbd.csi.ceph.com/encrypted";
  private static final String DEK = "rbd.csi.ceph.com/dek";
  private static final int TAG_BITS = 128;

  private String name;
  private String uuid;
  private String image;
  private String id;

  /** In the place of the same method above. */
  @BeforeAll
  static void start() {
    try {
      Path kms = Files.createTempFile("kms", ".json");
      Files.writeString(kms, "{\"meta\": {\"encryptionKMSType\": \"metadata\"}}");
      driver = TestDriver.rbd(CLUSTER).withCredentials().encrypted(kms, "meta").start();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** The keys of today, and those of older releases, which the first read replaces. */
  @ParameterizedTest
  @ValueSource(strings = {"", "."})
  void aVolumeOfCephCsiIsStagedReadExpandedRotatedAndDeleted(String prefix) throws Exception {
    String passphrase = make(prefix);
    Volume volume = driver.create(name, 64 * MIB); // a repeated call
    volumes.add(volume);
    assertThat(volume.getVolumeId()).isEqualTo(id);
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    assertThat(target.resolve("of-ceph-csi")).hasContent("kept");
    assertThat(unwrapped()).isEqualTo(passphrase);
    assertThat(meta(STATE)).isEqualTo("encrypted");
    assertThat(metadata()).doesNotContainKeys("." + STATE, "." + DEK);
    Files.writeString(target.resolve("of-this"), "kept, too");
    grow(volume, 96 * MIB);
    long before = bytes(volume);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(96 * MIB);
    assertThat(bytes(volume)).isGreaterThan(before + 24 * MIB);
    rotate();
    String next = unwrapped();
    assertThat(next).hasSize(28).isNotEqualTo(passphrase);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
    cephCsiReads(passphrase, next);
    driver.delete(id);
    volumes.clear();
    assertThat(CLUSTER.rbd("ls", CLUSTER.pool())).doesNotContain(image);
    assertThat(CLUSTER.rados("-p", CLUSTER.pool(), "ls")).doesNotContain(uuid, id);
    assertThat(CLUSTER.rados("-p", CLUSTER.pool(), "listomapkeys", "csi.volumes.default"))
        .doesNotContain(name);
  }

  /** As ceph-csi's CreateVolume and first NodeStageVolume do; the passphrase. */
  private String make(String prefix) throws Exception {
    name = "pvc-" + UUID.randomUUID();
    uuid = UUID.randomUUID().toString();
    image = "csi-vol-" + uuid;
    CLUSTER.rbd("create", "--size", "64", "--image-feature", "layering", spec());
    String imageId;
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(CLUSTER.pool())) {
      imageId = ImageId.find(new RbdPool(io), image).orElseThrow();
      id =
          String.format(
              Locale.ROOT, "0001-000c-%s-%016x-%s", TestDriver.CLUSTER_ID, io.poolId(), uuid);
    }
    String entry = "csi.volume." + uuid;
    omap("csi.volumes.default", "csi.volume." + name, uuid);
    omap(entry, "csi.volname", name);
    omap(entry, "csi.imagename", image);
    omap(entry, "csi.imageid", imageId);
    omap(entry, "csi.volume.owner", "shop");
    omap(entry, "csi.volume.encryptKMS", "meta");
    if (prefix.isEmpty()) {
      omap(entry, "csi.volume.encryptionType", "block"); // as old as the names without the dot
    }
    byte[] random = new byte[20];
    new SecureRandom().nextBytes(random);
    String passphrase = Base64.getUrlEncoder().encodeToString(random);
    CLUSTER.rbd("image-meta", "set", spec(), prefix + DEK, wrapped(passphrase));
    CLUSTER.rbd("image-meta", "set", spec(), prefix + STATE, "encryptionPrepared");
    String device = map();
    run(
        passphrase,
        "cryptsetup -q luksFormat --type luks2 --hash sha256 --pbkdf-memory 32768 "
            + device
            + " -d /dev/stdin");
    CLUSTER.rbd("image-meta", "set", spec(), prefix + STATE, "encrypted");
    assertThat(open(device, passphrase)).isZero();
    run("", "mkfs.ext4 -q -m0 -Enodiscard,lazy_itable_init=1,lazy_journal_init=1 " + mapped());
    Path folder = Files.createTempDirectory("golden");
    run("", "mount -t ext4 " + mapped() + " " + folder);
    Files.writeString(folder.resolve("of-ceph-csi"), "kept");
    unmount(folder, device);
    return passphrase;
  }

  /** As its NodeStageVolume and NodeUnstageVolume do of a volume that has LUKS. */
  private void cephCsiReads(String before, String passphrase) throws Exception {
    String device = map();
    assertThat(open(device, before)).isEqualTo(2);
    assertThat(open(device, passphrase)).isZero();
    Path folder = Files.createTempDirectory("golden");
    run("", "mount -t ext4 " + mapped() + " " + folder);
    assertThat(folder.resolve("of-ceph-csi")).hasContent("kept");
    assertThat(folder.resolve("of-this")).hasContent("kept, too");
    unmount(folder, device);
  }

  private void unmount(Path folder, String device) throws Exception {
    run("", "umount " + folder);
    run("", "cryptsetup luksClose luks-rbd-" + id);
    CLUSTER.rbd("unmap", "--options", "noudev", device);
  }

  private String map() {
    return CLUSTER.rbd("map", "--options", "noudev", spec()).strip();
  }

  private int open(String device, String passphrase) throws Exception {
    return exitCode(
        passphrase,
        "cryptsetup luksOpen " + device + " luks-rbd-" + id + " --disable-keyring -d /dev/stdin");
  }

  /** The link in /dev/mapper is made by cryptsetup where there is no udev. */
  private String mapped() {
    return "/dev/mapper/luks-rbd-" + id;
  }

  private static void run(String input, String command) throws Exception {
    assertThat(exitCode(input, command)).as(command).isZero();
  }

  private static int exitCode(String input, String command) throws Exception {
    Process process =
        new ProcessBuilder(command.split(" ", -1))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (var stream = process.getOutputStream()) {
      stream.write(input.getBytes(UTF_8));
    }
    assertThat(process.waitFor(3, TimeUnit.MINUTES)).as(command).isTrue();
    return process.exitValue();
  }

  private String spec() {
    return CLUSTER.pool() + "/" + image;
  }

  private static void omap(String object, String key, String value) {
    CLUSTER.rados("-p", CLUSTER.pool(), "setomapval", object, key, value);
  }

  private Map<String, String> metadata() throws IOException {
    JsonNode all =
        new ObjectMapper().readTree(CLUSTER.rbd("image-meta", "list", "--format", "json", spec()));
    return all.properties().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, entry -> entry.getValue().asText()));
  }

  private String meta(String key) throws IOException {
    return metadata().getOrDefault(key, "");
  }

  @SuppressWarnings("CheckReturnValue")
  private void rotate() {
    EncryptionKeyRotationControllerGrpc.newBlockingStub(driver.channel())
        .encryptionKeyRotate(
            EncryptionKeyRotateRequest.newBuilder()
                .setVolumeId(id)
                .putAllSecrets(driver.secrets())
                .build());
  }

  private SecretKeySpec key() {
    byte[] secret = TestDriver.PASSPHRASE.getBytes(UTF_8);
    return new SecretKeySpec(SCrypt.generate(secret, id.getBytes(UTF_8), 32768, 8, 1, 32), "AES");
  }

  private String wrapped(String passphrase) throws GeneralSecurityException {
    byte[] nonce = new byte[12];
    new SecureRandom().nextBytes(nonce);
    byte[] sealed = cipher(Cipher.ENCRYPT_MODE, nonce).doFinal(passphrase.getBytes(UTF_8));
    Base64.Encoder base64 = Base64.getEncoder();
    return "{\"dek\":\""
        + base64.encodeToString(sealed)
        + "\",\"nonce\":\""
        + base64.encodeToString(nonce)
        + "\"}";
  }

  private String unwrapped() throws IOException, GeneralSecurityException {
    JsonNode sealed = new ObjectMapper().readTree(meta(DEK));
    byte[] nonce = Base64.getDecoder().decode(sealed.get("nonce").asText());
    byte[] dek = Base64.getDecoder().decode(sealed.get("dek").asText());
    byte[] plain = cipher(Cipher.DECRYPT_MODE, nonce).doFinal(dek);
    String text = new String(plain, UTF_8);
    Arrays.fill(plain, (byte) 0);
    return text;
  }

  private Cipher cipher(int mode, byte... nonce) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, key(), new GCMParameterSpec(TAG_BITS, nonce));
    return cipher;
  }
}
