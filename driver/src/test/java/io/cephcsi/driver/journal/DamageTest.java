package io.cephcsi.driver.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DamageTest {
  private static final Map<String, String> SOUND =
      Map.of("csi.volname", "pvc 1/ü", "csi.imagename", "größe-vol-1", "csi.imageid", "10312133");

  private static Map<String, String> with(String key, String value) {
    Map<String, String> attributes = new HashMap<>(SOUND);
    attributes.put(key, value);
    return attributes;
  }

  @Test
  void whatCephCsiWroteIsSound() {
    for (String call : Golden.values("after")) {
      Golden.journal(call)
          .forEach(
              (object, omap) -> {
                JournalKind kind =
                    object.startsWith("csi.volume.group.")
                        ? JournalKind.GROUP
                        : object.startsWith("csi.snap.")
                            ? JournalKind.SNAPSHOT
                            : JournalKind.VOLUME;
                if (omap.containsKey(kind.nameKey())) {
                  assertThat(Damage.of(kind, omap)).as(call + " " + object).isEmpty();
                }
              });
    }
    assertThat(Damage.of(JournalKind.VOLUME, SOUND)).isEmpty();
    assertThat(Damage.of(JournalKind.VOLUME, with("of.others", "\0".repeat(5000)))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "csi.imagename",
        "csi.imageid",
        "csi.journalpool",
        "csi.source",
        "csi.java.nativeimage",
        "csi.java.nativesnapshot",
        "csi.java.clonedsubvolume",
        "csi.volume.backingsnapshotid",
        "csi.volname",
        "csi.groupid",
        "csi.java.unknown"
      })
  void whatCannotBeMeantIsDamage(String key) {
    for (String value : List.of("a\0", "\0", "a\nb", "\u202Ea", "x".repeat(5000))) {
      assertThat(Damage.of(JournalKind.VOLUME, with(key, value)))
          .hasValueSatisfying(
              damage -> assertThat(damage).contains(key).matches("\\P{Cntrl}{1,400}"));
    }
  }

  @Test
  void namesAndNumbersAreWhatTheyShouldBe() {
    for (String name : List.of("", ".", "..", "a/b")) {
      assertThat(Damage.of(JournalKind.VOLUME, with("csi.imagename", name))).isPresent();
    }
    assertThat(Damage.of(JournalKind.VOLUME, with("csi.imageid", "a/b"))).isPresent();
    assertThat(Damage.of(JournalKind.VOLUME, with("csi.imageid", ""))).isEmpty();
    assertThat(Damage.of(JournalKind.VOLUME, with("csi.journalpool", "1f"))).isPresent();
    assertThat(Damage.of(JournalKind.VOLUME, with("csi.java.nativesnapshot", "-1"))).isPresent();
  }

  @Test
  void anEntryWithTheNameOfAnotherIsNotItsOwn() {
    UUID uuid = UUID.randomUUID();
    JournalEntry own = new JournalEntry(uuid, "pvc", "csi-vol-" + uuid, Map.of());
    assertThat(own.requireOwnName()).isSameAs(own);
    JournalEntry foreign = new JournalEntry(uuid, "pvc", "csi-vol-" + UUID.randomUUID(), Map.of());
    assertThatThrownBy(foreign::requireOwnName)
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  @Test
  void listsLeaveDamageOutOnceSaidAndNothingElse() {
    String entry = "rbd: " + UUID.randomUUID();
    long before = DamagedEntries.found();
    for (RuntimeException damage :
        List.of(
            Damage.exception("csi.volume.x", "bad"),
            new IllegalStateException("a\nb"),
            ReturnCode.exception(-Errno.ENAMETOOLONG.number(), "rados_read", "x", ""))) {
      assertThat(DamagedEntries.skip(entry, () -> fail(damage))).isEmpty();
    }
    assertThat(DamagedEntries.found()).isGreaterThanOrEqualTo(before + 1);
    for (RuntimeException other :
        List.of(
            new VolumeException(Reason.UNAVAILABLE, "later"),
            ReturnCode.exception(-Errno.ETIMEDOUT.number(), "rados_read", "x", ""),
            ReturnCode.exception(-Errno.EACCES.number(), "rados_read", "x", ""))) {
      assertThatThrownBy(() -> DamagedEntries.skip(entry, () -> fail(other))).isSameAs(other);
    }
  }

  private static Optional<String> fail(RuntimeException e) {
    throw e;
  }
}
