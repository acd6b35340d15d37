package io.cephcsi.driver.rbd.encryption;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyWrapper;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.testing.TestCluster;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two processes at the metadata of one image, one of which was held up. */
class ImageKeyIT {
  private static final TestCluster CLUSTER = TestCluster.shared();

  /** Its wrapped texts are the passphrases. */
  private static final KeyWrapper PLAIN =
      new KeyWrapper() {
        @Override
        public String id() {
          return "plain";
        }

        @Override
        public String wrap(KeyOwner owner, Passphrase passphrase) {
          return passphrase.text();
        }

        @Override
        public Passphrase unwrap(KeyOwner owner, String wrapped) {
          return passphrase(wrapped);
        }
      };

  private RadosCluster connection;
  private IoContext io;
  private String image;
  private ImageKey key;

  @BeforeEach
  void make() {
    connection = CLUSTER.connect();
    io = connection.openPool(CLUSTER.pool());
    String name = "key-" + UUID.randomUUID();
    image = CLUSTER.pool() + "/" + name;
    CLUSTER.rbd("create", "--size", "8M", image);
    RbdPool pool = new RbdPool(io);
    KeyOwner owner = new KeyOwner("a-volume", Optional.empty(), Map.of());
    key = new ImageKey(pool, ImageId.find(pool, name).orElseThrow(), PLAIN, owner);
  }

  @AfterEach
  void remove() {
    CLUSTER.rbd("rm", "--no-progress", image);
    io.close();
    connection.close();
  }

  private static Passphrase passphrase(String text) {
    return Passphrase.of(text.getBytes(UTF_8));
  }

  private void set(String name, String value) {
    CLUSTER.rbd("image-meta", "set", image, name, value);
  }

  private static void assertAborted(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
  }

  @Test
  void aLateRenamingDoesNotPutAnOlderPassphraseBack() {
    set("." + ImageKey.STATE, "encrypted");
    set("." + ImageKey.DEK, "first");
    Map<String, String> seen = key.found();
    key.replace(passphrase("first"), passphrase("second"));
    assertThat(key.stored(seen)).isEqualTo(new ImageKey.Stored("encrypted", "second"));
    assertThat(key.fetch().text()).isEqualTo("second");
    assertThat(key.state()).isEqualTo(EncryptionState.ENCRYPTED);
    assertThat(key.found()).containsOnlyKeys(ImageKey.STATE, ImageKey.DEK);
  }

  @Test
  void aPassphraseIsConfirmedOnlyWhileItIsStored() {
    set(ImageKey.STATE, "encrypted");
    set(ImageKey.DEK, "first");
    key.confirm(passphrase("first"));
    assertThat(key.fetch().text()).isEqualTo("first");
    set(ImageKey.DEK, "second");
    assertAborted(() -> key.confirm(passphrase("first")));
    assertThat(key.fetch().text()).isEqualTo("second");
  }
}
