package io.cephcsi.driver.node.fscrypt;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.OpenFile;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.kms.SharedPassphrase;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Encrypted folders on an ext4 of this machine, with the program fscrypt as judge. Needs root. */
class EncryptedFolderIT {
  private static final String PASSPHRASE = "a passphrase that somebody chose";

  private static final long SMALL = 1 << 20;

  @TempDir Path directory;
  private Path image;
  private Path root;
  private Path files;

  @BeforeAll
  static void configure() {
    FscryptProgram.configure();
  }

  @BeforeEach
  void make() throws IOException {
    image = directory.resolve("image");
    root = Files.createDirectory(directory.resolve("root"));
    files = root.resolve(EncryptedFolder.NAME);
    run("truncate", "-s", "32M", image.toString());
    run("mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "encrypt", image.toString());
    mount();
  }

  private void mount() {
    run("mount", "-o", "loop", image.toString(), root.toString());
  }

  @AfterEach
  void unmount() {
    run("umount", root.toString());
  }

  /** A mount namespace that another test made meanwhile keeps the file system, with its keys. */
  private void remount() {
    unmount();
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .until(
            () -> Commands.run(List.of("losetup", "--associated", image.toString())),
            String::isBlank);
    mount();
  }

  private static void run(String... command) {
    assertThat(Commands.run(List.of(command))).isNotNull();
  }

  /** A KMS with one passphrase for all volumes. */
  private record Chosen(String text) implements SharedPassphrase {
    @Override
    public String id() {
      return "chosen";
    }

    @Override
    public Passphrase passphrase(KeyOwner owner) {
      return Passphrase.of(text.getBytes(UTF_8));
    }
  }

  private static FileSecret secret(Kms kms) {
    return new FileSecret(kms, new KeyOwner("volume-1", Optional.empty(), Map.of()));
  }

  private static FileSecret chosen() {
    return secret(new Chosen(PASSPHRASE));
  }

  private EncryptedFolder folder() {
    return new EncryptedFolder("volume-1", root);
  }

  private void unlock(FileSecret secret) {
    folder().unlock(secret, true);
  }

  private void refused(String text, FileSecret secret) throws IOException {
    Map<String, String> before = content();
    assertThatThrownBy(() -> unlock(secret))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining(text)
        .hasMessageNotContaining(PASSPHRASE);
    assertThat(content()).isEqualTo(before);
  }

  /** All names and contents outside of the folder, and whether that is there. */
  private Map<String, String> content() throws IOException {
    Map<String, String> found = new TreeMap<>();
    try (Stream<Path> all = Files.walk(root)) {
      for (Path one : all.filter(path -> !path.startsWith(files) || path.equals(files)).toList()) {
        boolean small = Files.isRegularFile(one) && Files.size(one) < SMALL;
        found.put(root.relativize(one).toString(), small ? Files.readString(one, ISO_8859_1) : "");
      }
    }
    return found;
  }

  @Test
  void theProgramUnlocksWhatThisDriverMade() throws IOException {
    assertThat(folder().isUnlocked()).isFalse();
    assertThatThrownBy(folder()::requireUnlocked).hasMessageContaining("stage the volume again");
    for (int i = 0; i < 2; i++) {
      unlock(chosen());
      assertThat(folder().isUnlocked()).isTrue();
    }
    Files.writeString(files.resolve("a name"), "content");
    remount();
    assertThat(folder().isUnlocked()).isFalse();
    assertThat(files.resolve("a name")).doesNotExist();
    assertThat(FscryptProgram.run("", "status", root.toString()))
        .contains("custom protector \"ceph-csi\"");
    assertThat(FscryptProgram.tryRun("wrong", "unlock", "--quiet", files.toString()).code())
        .isNotZero();
    FscryptProgram.run(PASSPHRASE, "unlock", "--quiet", files.toString());
    assertThat(files.resolve("a name")).hasContent("content");
    assertThat(folder().isUnlocked()).isTrue();
    remount();
    unlock(chosen());
    assertThat(files.resolve("a name")).hasContent("content");
    assertThat(Files.getPosixFilePermissions(root.resolve(".fscrypt")))
        .isEqualTo(PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(Files.getPosixFilePermissions(files))
        .isEqualTo(PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  /** As ceph-csi does it, which uses the library of the program. */
  @ParameterizedTest
  @ValueSource(strings = {"1", "2"})
  void whatTheProgramMadeIsUnlocked(String version) throws IOException {
    Path config = Path.of("/etc/fscrypt.conf");
    String kept = Files.readString(config);
    Files.writeString(
        config,
        kept.replaceAll("\"policy_version\": *\"[12]\"", "\"policy_version\": \"" + version + "\"")
            .replaceAll(
                "\"use_fs_keyring_for_v1_policies\": *false",
                "\"use_fs_keyring_for_v1_policies\": true"));
    try {
      FscryptProgram.run("", "setup", "--quiet", root.toString());
      Files.createDirectory(files);
      FscryptProgram.run(
          PASSPHRASE,
          "encrypt",
          "--quiet",
          "--source=custom_passphrase",
          "--name=ceph-csi",
          "--skip-unlock",
          files.toString());
    } finally {
      Files.writeString(config, kept);
    }
    refused("does not open it; nothing was changed", secret(new Chosen("another")));
    unlock(chosen());
    Files.writeString(files.resolve("a name"), "content");
    remount();
    assertThat(files.resolve("a name")).doesNotExist();
    unlock(chosen());
    assertThat(files.resolve("a name")).hasContent("content");
  }

  @Test
  void aSecretThatTheKmsStoresIsTheKeyItself() throws IOException {
    StoringKms kms = new StoringKms();
    unlock(secret(kms));
    String stored = kms.kept().get("volume-1");
    assertThat(stored).matches("[A-Za-z0-9_-]{86}==");
    Files.writeString(files.resolve("a name"), "content");
    remount();
    Path key = Files.write(directory.resolve("key"), stored.substring(0, 32).getBytes(UTF_8));
    FscryptProgram.run("", "unlock", "--quiet", "--key=" + key, files.toString());
    assertThat(files.resolve("a name")).hasContent("content");
    remount();
    kms.down(true);
    assertThatThrownBy(() -> unlock(secret(kms))).hasMessageContaining("KMS store is down");
    kms.down(false);
    kms.kept().clear();
    refused("has no secret of it", secret(kms));
    assertThat(kms.kept()).isEmpty();
    kms.kept().put("volume-1", stored);
    unlock(secret(kms));
    assertThat(files.resolve("a name")).hasContent("content");
  }

  @Test
  void aFolderOfTheProgramWithAKeyIsUnlocked() throws IOException {
    StoringKms kms = new StoringKms();
    String stored = "0123456789abcdef".repeat(5) + "01234567";
    kms.kept().put("volume-1", stored);
    FscryptProgram.run("", "setup", "--quiet", root.toString());
    Files.createDirectory(files);
    Path key = Files.write(directory.resolve("key"), stored.substring(0, 32).getBytes(UTF_8));
    FscryptProgram.run(
        "",
        "encrypt",
        "--quiet",
        "--source=raw_key",
        "--name=ceph-csi",
        "--key=" + key,
        "--skip-unlock",
        files.toString());
    remount();
    unlock(secret(kms));
    Files.writeString(files.resolve("a name"), "content");
  }

  /** Whatever of it is there: it never had a policy. */
  @Test
  void aSetupThatWasCutOffIsBegunAnew() throws IOException {
    unlock(chosen());
    Path saved = directory.resolve("saved");
    run("cp", "-a", root.resolve(".fscrypt").toString(), saved.toString());
    for (int step = 0; step < 6; step++) {
      unmount();
      run("mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "encrypt", image.toString());
      mount();
      Path metadata = root.resolve(".fscrypt");
      if (step == 5) {
        Files.createDirectory(files);
      }
      if (step >= 1) {
        run("cp", "-a", saved.toString(), metadata.toString());
      } else {
        Files.createDirectory(metadata);
      }
      if (step == 1) {
        run("rm", "-r", metadata.resolve("protectors").toString());
      }
      if (step <= 2 && step > 0) {
        run("find", metadata.toString(), "-type", "f", "-delete");
      }
      if (step == 3) {
        run(
            "find",
            metadata.toString(),
            "-type",
            "f",
            "-size",
            "+0",
            "-exec",
            "truncate",
            "-s",
            "9",
            "{}",
            ";");
      }
      assertThat(folder().isUnlocked()).isFalse();
      unlock(chosen());
      Files.writeString(files.resolve("a name"), "content");
      remount();
      unlock(chosen());
      assertThat(files.resolve("a name")).as("step " + step).hasContent("content");
    }
  }

  @Test
  void whatSomebodyElseMayHaveMadeIsLeftAlone() throws IOException {
    FscryptProgram.run("", "setup", "--quiet", root.toString());
    Path other = Files.createDirectory(root.resolve("other"));
    FscryptProgram.run(
        PASSPHRASE,
        "encrypt",
        "--quiet",
        "--source=custom_passphrase",
        "--name=somebody",
        "--skip-unlock",
        other.toString());
    refused("files that are not encrypted, beside", chosen());
    Files.delete(other);
    refused("was not made by a driver", chosen());
    run("rm", "-r", root.resolve(".fscrypt").toString());
    Files.createDirectories(files);
    Files.writeString(files.resolve("plain"), "kept");
    refused("has files that are not encrypted", chosen());
    assertThat(files.resolve("plain")).hasContent("kept");
    Files.delete(files.resolve("plain"));
    Files.createDirectory(root.resolve("lost+found/#11"));
    refused("somebody is to look", chosen());
    Files.delete(root.resolve("lost+found/#11"));
    unlock(chosen());
  }

  @Test
  void aPolicyWithoutItsMetadataIsRefused() throws IOException {
    unlock(chosen());
    Files.writeString(files.resolve("a name"), "content");
    Path metadata = root.resolve(".fscrypt");
    Path aside = directory.resolve("aside");
    run("cp", "-a", metadata.toString(), aside.toString());
    remount();
    run("rm", "-r", metadata.toString());
    refused("there is no .fscrypt", chosen());
    run("cp", "-a", aside.toString(), metadata.toString());
    run("rm", "-r", metadata.resolve("protectors").toString());
    refused("protectors is not there", chosen());
    run("rm", "-r", metadata.toString());
    run("cp", "-a", aside.toString(), metadata.toString());
    unlock(chosen());
    assertThat(files.resolve("a name")).hasContent("content");
  }

  /** Who could write to the image may have made anything of it. */
  @Test
  void linksAndFilesOfOthersLeadNowhere() throws IOException {
    unlock(chosen());
    remount();
    Path metadata = root.resolve(".fscrypt");
    Path outside = directory.resolve("outside");
    run("cp", "-a", metadata.toString(), outside.toString());
    run("rm", "-r", metadata.toString());
    Files.createSymbolicLink(metadata, outside);
    refused(".fscrypt is no folder", chosen());
    Files.delete(metadata);
    run("cp", "-a", outside.toString(), metadata.toString());
    Path protectors = metadata.resolve("protectors");
    Path protector = only(protectors);
    Path target = only(outside.resolve("protectors"));
    Files.delete(protector);
    Files.createSymbolicLink(protector, target);
    refused("is no small file", chosen());
    Files.delete(protector);
    run("mkfifo", protector.toString());
    refused("is no small file", chosen());
    Files.delete(protector);
    run("truncate", "-s", "1G", protector.toString());
    refused("is no small file", chosen());
    run("cp", "-a", target.toString(), protector.toString());
    run("chmod", "666", protector.toString());
    refused("only this user can write", chosen());
    run("chmod", "600", protector.toString());
    run("chown", "1000", metadata.toString());
    refused("only this user can write", chosen());
    run("chown", "0", metadata.toString());
    run("chmod", "1777", protectors.toString());
    refused("only this user can write", chosen());
    run("chmod", "755", protectors.toString());
    unlock(chosen());
    remount();
    run("rmdir", files.toString());
    Files.createSymbolicLink(files, outside);
    refused(EncryptedFolder.NAME, chosen());
    assertThatThrownBy(folder()::requireUnlocked)
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining(EncryptedFolder.NAME);
  }

  /**
   * Who could write to the image may have given it protectors that are none of ours, or damaged.
   */
  @Test
  void aSoundProtectorIsEnough() throws IOException {
    unlock(chosen());
    Files.writeString(files.resolve("a name"), "content");
    remount();
    Path policyFile = only(root.resolve(".fscrypt/policies"));
    Path sound = only(root.resolve(".fscrypt/protectors"));
    Policy policy = Policy.read(Files.readAllBytes(policyFile));
    WrappedKey key = policy.keys().get(0).key();
    String none = "0000000000000001";
    String garbage = "0000000000000002";
    String foreign = "0000000000000003";
    Files.write(sound.resolveSibling(garbage), new byte[] {1, 2, 3});
    byte[] ofLogin =
        new ProtoFields.Writer().text(1, foreign).number(2, 1).text(3, "somebody").toBytes();
    Files.write(sound.resolveSibling(foreign), ofLogin);
    String ours = String.valueOf(sound.getFileName());
    List<String> names = new ArrayList<>(List.of("../x", none, garbage, foreign, ours, ours));
    writePolicy(policyFile, policy, names, key);
    assertThat(protectorsOf(policy)).containsExactly(ours);
    unlock(chosen());
    assertThat(files.resolve("a name")).hasContent("content");
    remount();

    byte[] kept = Files.readAllBytes(sound);
    Files.delete(sound);
    refused("names a protector that cannot be", chosen());
    Files.write(sound, kept);
    for (int i = 0; i < 2; i++) {
      Protector other =
          Protector.make(new byte[] {1}, false, FscryptKeys.random(32), new HashCosts(1, 64, 1));
      Files.write(sound.resolveSibling(other.descriptor()), other.encode());
      names.add(other.descriptor());
    }
    writePolicy(policyFile, policy, names, key);
    assertThat(protectorsOf(policy)).containsExactly(ours, names.get(6));
    unlock(chosen());
  }

  private static void writePolicy(Path file, Policy like, List<String> protectors, WrappedKey key)
      throws IOException {
    Policy written =
        new Policy(
            like.descriptor(),
            like.padding(),
            like.contents(),
            like.names(),
            like.version(),
            protectors.stream().map(one -> new Policy.OfProtector(one, key)).toList());
    Files.write(file, written.encode());
  }

  private List<String> protectorsOf(Policy policy) throws IOException {
    try (OpenFile open = OpenFile.folder(root);
        MetadataFolder metadata = MetadataFolder.find(open).orElseThrow()) {
      return metadata.read(policy.descriptor()).protectors().stream()
          .map(Protector::descriptor)
          .toList();
    }
  }

  /** A descriptor that stays open keeps the file system from being unmounted. */
  @Test
  void whatCannotBeMadeIsNotHeldOpen() throws IOException {
    unmount();
    run("mount", "-t", "tmpfs", "-o", "nr_inodes=2", "none", root.toString());
    try (OpenFile open = OpenFile.folder(root)) {
      assertThatThrownBy(() -> MetadataFolder.make(open)).isInstanceOf(CephException.class);
    }
    assertThat(root.resolve(".fscrypt")).isEmptyDirectory();
  }

  /** On CephFS the key may be another volume's, of the same directory. */
  @Test
  void aSecretIsProvenAlsoWhereTheKernelHasTheKey() {
    assertThatThrownBy(() -> folder().unlockAnew(chosen())).hasMessageContaining("stage it once");
    unlock(chosen());
    assertThatThrownBy(() -> folder().unlockAnew(secret(new Chosen("another"))))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining("does not open it");
    assertThat(folder().isUnlocked()).isTrue();
    folder().unlockAnew(chosen());
    assertThat(folder().isUnlocked()).isTrue();
  }

  private static Path only(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.reduce(
              (one, two) -> {
                throw new AssertionError(one + " and " + two);
              })
          .orElseThrow();
    }
  }

  @Test
  void aFileSystemThatCannotEncryptAndOneThatOnlyReadsAreRefused() throws IOException {
    assertThatThrownBy(() -> folder().unlock(chosen(), false))
        .hasMessageContaining("stage it once for writing");
    unlock(chosen());
    Files.writeString(files.resolve("a name"), "content");
    unmount();
    run("mount", "-o", "loop,ro", image.toString(), root.toString());
    folder().unlock(chosen(), false);
    assertThat(files.resolve("a name")).hasContent("content");
    unmount();
    run("mkfs.ext4", "-q", "-F", "-O", "^encrypt", image.toString());
    mount();
    refused("-O encrypt", chosen());
  }
}
