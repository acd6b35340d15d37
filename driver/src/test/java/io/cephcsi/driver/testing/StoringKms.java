package io.cephcsi.driver.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

/** A KMS that keeps passphrases itself, in memory, and can be down. */
public final class StoringKms implements KeyStore {
  private final Map<String, String> kept = new ConcurrentHashMap<>();
  private volatile boolean down;
  private volatile boolean dying;
  private volatile boolean byTenant;
  private volatile boolean lagging;
  private final AtomicReference<String> stale = new AtomicReference<>("");

  /** What it has, by the id of the volume. */
  public Map<String, String> kept() {
    return kept;
  }

  /** Lets it answer nobody, or answer again. */
  public void down(boolean on) {
    down = on;
  }

  /** Lets it be down as soon as it has stored something new, before it answers. */
  public void die(boolean on) {
    dying = on;
  }

  /** Lets it count as one that keeps the passphrases of each tenant apart. */
  public void byTenant(boolean on) {
    byTenant = on;
  }

  /** Lets it answer the next question by what it had before, as a standby that lags behind. */
  public void stale(String passphrase) {
    stale.set(passphrase);
  }

  /** Lets it answer the question after each replacement by what it had before. */
  public void lagging(boolean on) {
    lagging = on;
  }

  @Override
  public String id() {
    return "store";
  }

  @Override
  public boolean isByTenant() {
    return byTenant;
  }

  private void require() {
    if (down) {
      throw new VolumeException(Reason.UNAVAILABLE, "KMS store is down");
    }
  }

  @Override
  public Optional<Passphrase> find(KeyOwner owner) {
    require();
    String older = stale.getAndSet("");
    return Optional.ofNullable(older.isEmpty() ? kept.get(owner.volumeId()) : older)
        .map(StoringKms::passphrase);
  }

  private static Passphrase passphrase(String text) {
    return Passphrase.of(text.getBytes(UTF_8));
  }

  @Override
  public Passphrase storeIfAbsent(KeyOwner owner, Passphrase passphrase) {
    require();
    kept.putIfAbsent(owner.volumeId(), passphrase.text());
    down = down || dying;
    require();
    return passphrase(kept.get(owner.volumeId()));
  }

  @Override
  public void replace(KeyOwner owner, Passphrase expected, Passphrase next) {
    require();
    if (!kept.replace(owner.volumeId(), expected.text(), next.text())
        && !next.text().equals(kept.get(owner.volumeId()))) {
      throw new VolumeException(Reason.ABORTED, "KMS store has another passphrase");
    }
    stale.set(lagging ? expected.text() : "");
  }

  @Override
  public void confirm(KeyOwner owner, Passphrase expected) {
    require();
    if (!expected.text().equals(kept.get(owner.volumeId()))) {
      throw new VolumeException(Reason.ABORTED, "KMS store has another passphrase");
    }
  }

  @Override
  public void remove(KeyOwner owner) {
    require();
    kept.remove(owner.volumeId());
  }
}
