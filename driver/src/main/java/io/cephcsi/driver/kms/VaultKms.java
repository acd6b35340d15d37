package io.cephcsi.driver.kms;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the passphrase of each volume in HashiCorp Vault, or OpenBao, as ceph-csi does: by the
 * volume's id, in a secrets engine of type kv.
 *
 * @param id of the KMS
 * @param sessions connects a volume's owner
 */
record VaultKms(String id, VaultSessions sessions) implements KeyStore {
  private static final Logger LOG = LoggerFactory.getLogger(VaultKms.class);
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final Duration PATIENCE = Duration.ofSeconds(3);

  /** What Vault has of a volume; the version is that of a deletion, too. */
  private record Stored(Optional<Passphrase> passphrase, long version) {}

  /** By a section. */
  static KmsTypes.Maker of(VaultKind kind) {
    return (id, section, objects) ->
        new VaultKms(id, VaultSessions.of(id, kind, VaultSettings.translated(section), objects));
  }

  @Override
  public boolean isByTenant() {
    return sessions.areOfTenants();
  }

  @Override
  public Optional<Passphrase> find(KeyOwner owner) {
    Deadline deadline = Deadline.after(TIMEOUT);
    return read(sessions.open(owner, deadline), owner, deadline).passphrase();
  }

  @Override
  public Passphrase storeIfAbsent(KeyOwner owner, Passphrase passphrase) {
    Deadline deadline = Deadline.after(TIMEOUT);
    VaultSession vault = sessions.open(owner, deadline);
    Stored before = read(vault, owner, deadline);
    if (before.passphrase().isPresent()) {
      return before.passphrase().get();
    }
    boolean wrote = write(vault, owner, passphrase, before.version(), deadline);
    if (wrote && vault.isVersioned(deadline)) {
      return passphrase.copy();
    }
    // Another call was faster; or version 1 took what came last.
    return read(vault, owner, deadline)
        .passphrase()
        .orElseThrow(() -> changed(owner, "stored and removed"));
  }

  @Override
  public void replace(KeyOwner owner, Passphrase expected, Passphrase next) {
    Deadline deadline = Deadline.after(TIMEOUT);
    VaultSession vault = sessions.open(owner, deadline);
    Stored before = read(vault, owner, deadline);
    Passphrase present =
        before
            .passphrase()
            .orElseThrow(
                () -> vault.wrong("there is no passphrase of " + owner.volumeId() + " to replace"));
    if (present.isSame(next)) {
      return;
    }
    if (!present.isSame(expected)) {
      throw changed(owner, "replaced");
    }
    boolean wrote = write(vault, owner, next, before.version(), deadline);
    // An attempt whose answer was lost may have written; and version 1 took what came last.
    if ((!wrote || !vault.isVersioned(deadline))
        && read(vault, owner, deadline).passphrase().filter(next::isSame).isEmpty()) {
      throw changed(owner, "replaced");
    }
  }

  /**
   * Others who confirm the same, as copies of one source that are made at once, write versions of
   * it, too; and a standby that lags behind gets newer ones: so it is tried for a while.
   */
  @Override
  public void confirm(KeyOwner owner, Passphrase expected) {
    Deadline deadline = Deadline.after(TIMEOUT);
    VaultSession vault = sessions.open(owner, deadline);
    Deadline patience = deadline.within(PATIENCE);
    do {
      Stored now = read(vault, owner, deadline);
      if (now.passphrase().filter(expected::isSame).isEmpty()) {
        throw changed(owner, "replaced");
      }
      if (!vault.isVersioned(deadline) || write(vault, owner, expected, now.version(), deadline)) {
        return;
      }
    } while (patience.sleep(Duration.ofMillis(ThreadLocalRandom.current().nextInt(20, 200))));
    throw changed(owner, "replaced");
  }

  private VolumeException changed(KeyOwner owner, String how) {
    return new VolumeException(
        Reason.ABORTED,
        "KMS "
            + id
            + ": the passphrase of "
            + owner.volumeId()
            + " is being "
            + how
            + " by another call");
  }

  @Override
  public void remove(KeyOwner owner) {
    try {
      removeStored(owner);
    } catch (VolumeException e) {
      boolean temporary = e.reason() == Reason.UNAVAILABLE;
      if (temporary || !sessions.isTenantGone(owner, Deadline.after(TIMEOUT))) {
        throw e;
      }
      LOG.warn(
          "the passphrase of {} stays in KMS {}: what its tenant logs in with is gone ({})",
          owner.volumeId(),
          id,
          e.getMessage());
    }
  }

  private void removeStored(KeyOwner owner) {
    Deadline deadline = Deadline.after(TIMEOUT);
    VaultSession vault = sessions.open(owner, deadline);
    String kind = vault.settings().destroys() ? "metadata" : "data";
    VaultSession.Answer answer =
        vault.call("DELETE", path(vault, owner, kind, deadline), "", List.of(), deadline);
    if (!answer.isGood() && !isMissing(vault, answer, deadline)) {
      throw vault.refused("the removal of the passphrase of " + owner.volumeId(), answer);
    }
  }

  /**
   * Vault says 404 without errors of a secret that is not there, or of version 2 with what it knows
   * of one that was deleted; and with errors of a path.
   *
   * @throws VolumeException UNAVAILABLE for a 404 of something else, such as a proxy
   */
  private static boolean isMissing(
      VaultSession vault, VaultSession.Answer answer, Deadline deadline) {
    if (answer.status() != 404 || !answer.errors().isEmpty()) {
      return false;
    }
    boolean ofVault =
        answer.json().get("errors") instanceof List<?>
            || (vault.isVersioned(deadline)
                && at(at(answer.json(), "data"), "metadata") instanceof Map<?, ?>);
    if (!ofVault) {
      throw vault.notOfVault(answer);
    }
    return true;
  }

  private static String path(VaultSession vault, KeyOwner owner, String kind, Deadline deadline) {
    List<String> parts = new ArrayList<>(VaultSession.segments(vault.settings().mount()));
    if (vault.isVersioned(deadline)) {
      parts.add(kind);
    }
    parts.addAll(VaultSession.segments(vault.settings().path()));
    parts.add(owner.volumeId());
    return vault.path(parts);
  }

  private static Stored read(VaultSession vault, KeyOwner owner, Deadline deadline) {
    VaultSession.Answer answer =
        vault.call("GET", path(vault, owner, "data", deadline), "", List.of(), deadline);
    boolean versioned = vault.isVersioned(deadline);
    Object data = at(answer.json(), "data");
    if (isMissing(vault, answer, deadline)) {
      return new Stored(Optional.empty(), versioned ? version(data) : 0);
    }
    if (!answer.isGood()) {
      throw vault.refused("the passphrase of " + owner.volumeId(), answer);
    }
    long version = versioned ? version(data) : 0;
    Object written = versioned ? at(data, "data") : data;
    if (at(at(written, "data"), "passphrase") instanceof String text && !text.isEmpty()) {
      String source = "the passphrase of " + owner.volumeId();
      return new Stored(Optional.of(Checks.passphrase(source, text)), version);
    }
    throw vault.wrong(
        "what it has of "
            + owner.volumeId()
            + " is no passphrase of a volume, and is left as it is");
  }

  private static Object at(Object map, String key) {
    return map instanceof Map<?, ?> found && found.get(key) != null ? found.get(key) : "";
  }

  private static long version(Object data) {
    String text = String.valueOf(at(at(data, "metadata"), "version"));
    return text.matches("[0-9]{1,18}") ? Long.parseLong(text) : 0;
  }

  /**
   * Writes a passphrase where a version is the newest.
   *
   * @return false when another version is
   */
  private boolean write(
      VaultSession vault, KeyOwner owner, Passphrase passphrase, long version, Deadline deadline) {
    String text = Checks.storable(id, passphrase, owner);
    Map<String, Object> body = new LinkedHashMap<>();
    if (vault.isVersioned(deadline)) {
      body.put("data", Map.of("data", Map.of("passphrase", text)));
      body.put("options", Map.of("cas", version));
    } else {
      body.put("data", Map.of("passphrase", text));
    }
    List<String> secrets = List.of(text);
    VaultSession.Answer answer =
        vault.call(
            "PUT", path(vault, owner, "data", deadline), RestCalls.json(body), secrets, deadline);
    if (answer.isGood()) {
      return true;
    }
    if (answer.status() == 400
        && answer.errors().stream().anyMatch(e -> String.valueOf(e).contains("check-and-set"))) {
      return false;
    }
    throw vault.refused("to store the passphrase of " + owner.volumeId(), answer);
  }
}
