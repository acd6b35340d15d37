package io.cephcsi.driver.node.rbd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.reclaim.luks.TestLuks;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rotations of a file with LUKS by the real cryptsetup. */
class SlotRotationIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String VOLUME = "a-volume";

  @TempDir private Path folder;
  private final StoringKms kms = new StoringKms();
  private final List<String> phases = new ArrayList<>();
  private RadosCluster connection;
  private IoContext io;
  private String image;
  private ImageKey key;
  private Cryptsetup cryptsetup;

  @BeforeEach
  void make() {
    connection = CLUSTER.connect();
    io = connection.openPool(CLUSTER.pool());
    String name = "rotated-" + UUID.randomUUID();
    image = CLUSTER.pool() + "/" + name;
    CLUSTER.rbd("create", "--size", "8M", image);
    RbdPool pool = new RbdPool(io);
    KeyOwner owner = new KeyOwner(VOLUME, Optional.empty(), Map.of());
    key = new ImageKey(pool, ImageId.find(pool, name).orElseThrow(), kms, owner);
    cryptsetup = on(TestLuks.format(folder, 24 << 20, "first").file());
    kms.kept().put(VOLUME, "first");
  }

  private Cryptsetup on(Path device) {
    return new Cryptsetup(VOLUME, device, folder.resolve("secrets"));
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

  private void rotate() {
    new SlotRotation(key, cryptsetup, () -> {}, () -> {}, phases::add).run();
  }

  private void assertKeptOpens() {
    assertThat(cryptsetup.isOpenedBy(passphrase(kms.kept().get(VOLUME)))).isTrue();
  }

  @Test
  void onlyTheNewPassphraseOpensTheDevice() {
    rotate();
    assertThat(kms.kept().get(VOLUME)).isNotEqualTo("first");
    assertKeptOpens();
    assertThat(cryptsetup.isOpenedBy(passphrase("first"))).isFalse();
    assertThat(phases).last().isEqualTo("remove the old passphrase");
  }

  /** As when the volume is mirrored since the rotation began. */
  @Test
  void theKmsKeepsWhatAnotherSiteMayNeed() {
    SlotRotation rotation =
        new SlotRotation(
            key,
            cryptsetup,
            () -> {},
            () -> {
              throw new VolumeException(Reason.FAILED_PRECONDITION, "is mirrored");
            },
            phases::add);
    assertThatThrownBy(rotation::run).hasMessageContaining("is mirrored");
    assertThat(kms.kept()).containsEntry(VOLUME, "first");
    assertKeptOpens();
    rotate();
    assertThat(kms.kept().get(VOLUME)).isNotEqualTo("first");
    assertKeptOpens();
  }

  /** A rotation died when the KMS had the second one, and a standby still answers the first. */
  @Test
  void whatTheKmsHasIsNotRemovedByWhoReadAnOlderOne() {
    cryptsetup.addTo(1, passphrase("first"), passphrase("second"));
    kms.kept().put(VOLUME, "second");
    kms.stale("first");
    assertThatThrownBy(this::rotate)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
    assertThat(kms.kept()).containsEntry(VOLUME, "second");
    assertKeptOpens();
    rotate();
    assertKeptOpens();
    assertThat(cryptsetup.isOpenedBy(passphrase("first"))).isFalse();
    assertThat(cryptsetup.isOpenedBy(passphrase("second"))).isFalse();
  }

  @Test
  void aStandbyThatLagsBehindStopsNoRotation() {
    kms.lagging(true);
    rotate();
    assertThat(kms.kept().get(VOLUME)).isNotEqualTo("first");
    assertKeptOpens();
    assertThat(cryptsetup.isOpenedBy(passphrase("first"))).isFalse();
  }

  @Test
  void aDeviceThatCannotBeWrittenIsNamed() {
    String loop =
        Commands.run(List.of("losetup", "--show", "-r", "-f", cryptsetup.device().toString()))
            .strip();
    try {
      cryptsetup = on(Path.of(loop));
      assertThatThrownBy(this::rotate)
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
          .hasMessageContaining("for reading only");
      assertThat(kms.kept()).containsEntry(VOLUME, "first");
      assertKeptOpens();
    } finally {
      assertThat(Commands.run(List.of("losetup", "-d", loop))).isNotNull();
    }
  }
}
