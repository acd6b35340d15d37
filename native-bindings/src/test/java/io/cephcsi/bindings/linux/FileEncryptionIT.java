package io.cephcsi.bindings.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The kernel's encryption of files, on an ext4 of this machine. Needs root. */
class FileEncryptionIT {
  private static final String IDENTIFIER = "8699c2c53707405da5aba5ae4d8583c0"; // of bytes 00...3f

  @TempDir Path folder;
  private Path image;
  private Path mounted;

  @BeforeEach
  void make() throws IOException {
    image = folder.resolve("image");
    mounted = Files.createDirectory(folder.resolve("mounted"));
    make("encrypt");
  }

  private void make(String features) {
    run("truncate", "-s", "32M", image.toString());
    run("mkfs.ext4", "-q", "-F", "-b", "4096", "-O", features, image.toString());
    mount();
  }

  private void mount() {
    run("mount", "-o", "loop", image.toString(), mounted.toString());
  }

  @AfterEach
  void unmount() {
    run("umount", mounted.toString());
  }

  private static void run(String... command) {
    assertThat(Commands.run(List.of(command))).isNotNull();
  }

  private static byte[] key() {
    byte[] key = new byte[64];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) i;
    }
    return key;
  }

  private OpenFile root() {
    return OpenFile.folder(mounted);
  }

  @Test
  void aFolderIsEncryptedAndUnlockedAfterAMount() throws IOException {
    EncryptionPolicy policy = EncryptionPolicy.usual(IDENTIFIER);
    try (OpenFile root = root();
        OpenFile made = root.makeFolder("secret", 0755)) {
      FileEncryption encryption = new FileEncryption(made);
      assertThat(encryption.isSupported()).isTrue();
      assertThat(encryption.policy()).isEmpty();
      assertThat(encryption.hasKeyOf(policy)).isFalse();
      for (int i = 0; i < 2; i++) {
        assertThat(encryption.addKey("", key())).isEqualTo(IDENTIFIER);
      }
      encryption.setPolicy(policy);
      assertThat(encryption.hasKeyOf(policy)).isTrue();
      assertThat(encryption.policy()).contains(policy);
      encryption.setPolicy(policy); // the same again
      fails(Errno.EEXIST, () -> encryption.setPolicy(new EncryptionPolicy(2, 1, 4, 0, IDENTIFIER)));
    }
    Files.writeString(mounted.resolve("secret/a name"), "content");
    unmount();
    mount();
    try (OpenFile root = root();
        OpenFile found = root.childFolder("secret")) {
      FileEncryption encryption = new FileEncryption(found);
      assertThat(encryption.policy()).contains(policy);
      assertThat(encryption.hasKeyOf(policy)).isFalse();
      assertThat(mounted.resolve("secret/a name")).doesNotExist();
      String[] names = mounted.resolve("secret").toFile().list();
      assertThat(names).hasSize(1).doesNotContain("a name");
      fails(Errno.ENOKEY, () -> found.makeFolder("another", 0755).close());
      assertThat(new FileEncryption(root).addKey("", key())).isEqualTo(IDENTIFIER);
      assertThat(encryption.hasKeyOf(policy)).isTrue();
    }
    assertThat(mounted.resolve("secret/a name")).hasContent("content");
  }

  private static void fails(Errno errno, Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(CephException.class, e -> assertThat(e.errno()).isEqualTo(errno));
  }

  @Test
  void aFolderWithFilesStaysAsItIs() throws IOException {
    try (OpenFile root = root();
        OpenFile made = root.makeFolder("full", 0700)) {
      assertThat(made.stat().permissions()).isEqualTo(0700);
      made.makeFile("file", 0600, "content".getBytes(java.nio.charset.StandardCharsets.UTF_8));
      made.sync();
      assertThat(mounted.resolve("full/file")).hasContent("content");
      FileEncryption encryption = new FileEncryption(made);
      assertThat(encryption.addKey("", key())).isEqualTo(IDENTIFIER);
      fails(Errno.ENOTEMPTY, () -> encryption.setPolicy(EncryptionPolicy.usual(IDENTIFIER)));
      fails(Errno.EEXIST, () -> made.makeFile("file", 0600, new byte[0]));
      fails(Errno.ENOTEMPTY, () -> root.remove("full", true));
      made.remove("file", false);
      root.remove("full", true);
      fails(Errno.ENOENT, () -> root.remove("full", true));
    }
    Files.createSymbolicLink(mounted.resolve("link"), folder);
    try (OpenFile root = root()) {
      fails(Errno.EEXIST, () -> root.makeFolder("link", 0755).close());
      fails(Errno.EEXIST, () -> root.makeFile("link", 0600, new byte[] {1}));
      root.remove("link", false);
    }
    assertThat(folder).exists();
  }

  /** A key of the first version has a name that its maker chose, and not the kernel. */
  @Test
  void aKeyOfTheFirstVersionIsFoundByItsName() {
    String descriptor = "04334e23057a6e2d";
    EncryptionPolicy policy = new EncryptionPolicy(1, 1, 4, 3, descriptor);
    try (OpenFile root = root()) {
      FileEncryption encryption = new FileEncryption(root);
      assertThat(encryption.hasKeyOf(policy)).isFalse();
      assertThat(encryption.addKey(descriptor, key())).isEqualTo(descriptor);
      assertThat(encryption.hasKeyOf(policy)).isTrue();
    }
  }

  @Test
  void whatCannotEncryptSaysSo() {
    try (OpenFile shm = OpenFile.folder(Path.of("/proc"))) {
      assertThat(new FileEncryption(shm).isSupported()).isFalse();
    }
    unmount();
    make("^encrypt");
    try (OpenFile root = root()) {
      FileEncryption encryption = new FileEncryption(root);
      assertThat(encryption.isSupported()).isFalse();
      fails(Errno.EOPNOTSUPP, () -> encryption.addKey("", key()));
    }
  }
}
