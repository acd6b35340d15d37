package io.cephcsi.driver.rbd.encryption;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.kms.KeyWrapper;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.kms.SharedPassphrase;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The passphrase of one encrypted image, where ceph-csi has it: in the KMS by the id of the volume,
 * or wrapped in the image's metadata. One that is there is never overwritten by making or copying
 * one: all is written by compare-and-set, so that a late call of a process that was held up cannot
 * take the passphrase from a volume that was formatted meanwhile. Only the metadata of journaled
 * images, which librbd writes for their mirrors, are compared before and not with the write. All
 * methods block on the cluster and the KMS.
 *
 * @param pool of the image
 * @param imageId its id
 * @param kms who keeps the passphrase
 * @param owner whose it is
 */
public record ImageKey(RbdPool pool, String imageId, Kms kms, KeyOwner owner) implements VolumeKey {
  /** The key of the metadata that says how far the encryption of an image is. */
  public static final String STATE = "rbd.csi.ceph.com/encrypted";

  static final String DEK = "rbd.csi.ceph.com/dek";

  /** What the metadata of an image says; empty for a key that is not there. */
  record Stored(String state, String dek) {}

  /**
   * How far the encryption is; one round trip, two more where keys have the names of older drivers.
   *
   * @throws VolumeException FAILED_PRECONDITION for a state that no driver writes
   */
  public EncryptionState state() {
    return state(read());
  }

  private EncryptionState state(Stored stored) {
    return EncryptionState.of(stored.state())
        .orElseThrow(() -> damaged("its metadata has a state that no driver writes"));
  }

  /**
   * Makes a passphrase for an image that was only just made, unless it has one, and notes that the
   * first staging formats it.
   *
   * @throws VolumeException as of the KMS; FAILED_PRECONDITION for an image that has LUKS and no
   *     passphrase
   */
  @Override
  public void setUp() {
    Stored stored = read();
    EncryptionState state = state(stored);
    boolean formatted = state == EncryptionState.ENCRYPTED;
    try (Passphrase made = Passphrase.random()) {
      if (kms instanceof SharedPassphrase shared) {
        shared.passphrase(owner).close(); // it must be there
      } else if (kms instanceof KeyStore store) {
        if (formatted) {
          requireStored(store).close();
        } else {
          store.storeIfAbsent(owner, made).close();
        }
      } else if (kms instanceof KeyWrapper wrapper && stored.dek().isEmpty()) {
        if (formatted) {
          throw damaged("it is encrypted, and its metadata has no passphrase");
        }
        changeIf(DEK, "", Map.of(DEK, wrapper.wrap(owner, made)));
      }
    }
    if (state == EncryptionState.NONE) {
      changeIf(STATE, "", Map.of(STATE, EncryptionState.PREPARED.text()));
    }
  }

  /**
   * The passphrase, which the caller closes.
   *
   * @throws VolumeException as of the KMS; FAILED_PRECONDITION when there is none
   */
  public Passphrase fetch() {
    return fetch(read());
  }

  private Passphrase fetch(Stored stored) {
    if (kms instanceof SharedPassphrase shared) {
      return shared.passphrase(owner);
    }
    if (kms instanceof KeyStore store) {
      return requireStored(store);
    }
    if (stored.dek().isEmpty()) {
      throw damaged("its metadata has no passphrase");
    }
    return ((KeyWrapper) kms).unwrap(owner, stored.dek());
  }

  private Passphrase requireStored(KeyStore store) {
    return store
        .find(owner)
        .orElseThrow(() -> damaged("KMS " + kms.id() + " has no passphrase of it"));
  }

  @Override
  public KeyOrigin origin() {
    Stored stored = read();
    return new KeyOrigin(Optional.of(fetch(stored)), state(stored), stored.dek());
  }

  @Override
  public void adopt(KeyOrigin origin) {
    Stored stored = read();
    Passphrase passphrase = origin.passphrase().orElseThrow();
    Map<String, String> change = new LinkedHashMap<>();
    if (state(stored) != EncryptionState.ENCRYPTED) {
      change.put(STATE, origin.state().text());
    }
    if (kms instanceof KeyWrapper wrapper) {
      if (!isAdopted(wrapper, stored, origin)) {
        change.put(DEK, wrapper.wrap(owner, passphrase));
        if (!changeIf(DEK, stored.dek(), change)) {
          throw contended();
        }
        return;
      }
    } else if (kms instanceof KeyStore store) {
      try (Passphrase kept = store.storeIfAbsent(owner, passphrase)) {
        requireSame(kept.isSame(passphrase));
      }
    } else if (kms instanceof SharedPassphrase shared) {
      try (Passphrase common = shared.passphrase(owner)) {
        if (!common.isSame(passphrase)) {
          throw VolumeException.invalid(
              "the source has another passphrase than KMS " + kms.id() + " has for all volumes");
        }
      }
    }
    if (!changeIf(STATE, stored.state(), change)) {
      throw contended();
    }
  }

  @Override
  public boolean adoptIfMissing(KeyOrigin origin) {
    String dek = read().dek();
    if (kms instanceof KeyWrapper && !dek.isEmpty() && !dek.equals(origin.dek())) {
      return false;
    }
    adopt(origin);
    return true;
  }

  @Override
  public void requireThere() {
    fetch().close();
  }

  /** Whether an attempt before has done it; what the source has is inherited with the metadata. */
  private boolean isAdopted(KeyWrapper wrapper, Stored stored, KeyOrigin origin) {
    if (stored.dek().isEmpty() || stored.dek().equals(origin.dek())) {
      return false;
    }
    try (Passphrase kept = wrapper.unwrap(owner, stored.dek())) {
      requireSame(kept.isSame(origin.passphrase().orElseThrow()));
      return true;
    } catch (VolumeException e) {
      if (e.reason() == Reason.FAILED_PRECONDITION) {
        return false; // wrapped for the source, before that got another
      }
      throw e;
    }
  }

  private void requireSame(boolean same) {
    if (!same) {
      throw contended();
    }
  }

  private VolumeException contended() {
    return new VolumeException(
        Reason.ABORTED,
        "another attempt to make " + owner.volumeId() + " left another passphrase; try again");
  }

  /**
   * Stores another passphrase, which opens the image already. What wraps it is asked for it again:
   * a KMS that stores has proven that by itself, and a standby of it may answer what was there
   * before.
   *
   * @param present what is stored
   * @throws VolumeException as of the KMS; FAILED_PRECONDITION when it has one for all volumes;
   *     ABORTED when somebody else has just stored another
   */
  public void replace(Passphrase present, Passphrase next) {
    if (kms instanceof KeyStore store) {
      store.replace(owner, present, next);
    } else if (kms instanceof KeyWrapper wrapper) {
      Stored stored = read();
      try (Passphrase now = fetch(stored)) {
        boolean replaced =
            now.isSame(next)
                || (now.isSame(present)
                    && changeIf(DEK, stored.dek(), Map.of(DEK, wrapper.wrap(owner, next))));
        if (!replaced) {
          throw changed();
        }
      }
      try (Passphrase written = fetch()) {
        if (!written.isSame(next)) {
          throw changed();
        }
      }
    } else {
      throw damaged("KMS " + kms.id() + " has one passphrase for all volumes");
    }
  }

  /**
   * Requires that a passphrase is stored now, and not only was when it was read: where that can be
   * compared with a write, it is written again.
   *
   * @throws VolumeException as of the KMS; ABORTED when another one is stored
   */
  public void confirm(Passphrase present) {
    if (kms instanceof KeyStore store) {
      store.confirm(owner, present);
      return;
    }
    Stored stored = read();
    try (Passphrase now = fetch(stored)) {
      boolean same =
          now.isSame(present)
              && (stored.dek().isEmpty()
                  || HeaderMetadata.isJournaled(pool.io(), imageId)
                  || changeIf(DEK, stored.dek(), Map.of(DEK, stored.dek())));
      if (!same) {
        throw changed();
      }
    }
  }

  @Override
  public void requireUnchanged(KeyOrigin origin) {
    if (kms instanceof KeyStore store) {
      store.confirm(owner, origin.passphrase().orElseThrow());
    } else if (kms instanceof KeyWrapper && !read().dek().equals(origin.dek())) {
      throw changed();
    }
  }

  private VolumeException changed() {
    return new VolumeException(
        Reason.ABORTED,
        "the passphrase of " + owner.volumeId() + " was changed meanwhile; try again");
  }

  /** Notes that the image has LUKS; it never goes back. */
  public void markEncrypted() {
    change(Map.of(STATE, EncryptionState.ENCRYPTED.text()), List.of());
  }

  /** Reads the keys; those of older drivers, which mirrors leave out, get their new names. */
  private Stored read() {
    return stored(found());
  }

  /** What there is of the keys, by both names. */
  Map<String, String> found() {
    return HeaderMetadata.read(pool.io(), imageId, List.of(STATE, DEK, "." + STATE, "." + DEK));
  }

  /**
   * As {@link #read}, of what was found before. Somebody may have renamed and changed it since:
   * then it is read again.
   */
  Stored stored(Map<String, String> found) {
    Map<String, String> named = new LinkedHashMap<>(found);
    for (String key : List.of(STATE, DEK)) {
      String old = found.get("." + key);
      if (old != null && !found.containsKey(key)) {
        if (!rename(key, old)) {
          return read();
        }
        named.put(key, old);
      }
    }
    return new Stored(named.getOrDefault(STATE, ""), named.getOrDefault(DEK, ""));
  }

  /** A crash within leaves the old name, too, which nobody reads any more. */
  private boolean rename(String key, String value) {
    boolean done = changeIf(key, "", Map.of(key, value));
    if (done) {
      change(Map.of(), List.of("." + key));
    }
    return done;
  }

  /**
   * Writes keys if one of them is as it was read; false if it is not. Mirrors need librbd for it,
   * which cannot compare: then only what was read says so.
   */
  private boolean changeIf(String key, String expected, Map<String, String> values) {
    if (values.isEmpty()) {
      return true;
    }
    if (HeaderMetadata.isJournaled(pool.io(), imageId)) {
      change(values, List.of());
      return true;
    }
    return HeaderMetadata.changeIf(pool.io(), imageId, key, expected, values);
  }

  private void change(Map<String, String> set, List<String> removed) {
    if (!HeaderMetadata.isJournaled(pool.io(), imageId)) {
      HeaderMetadata.change(pool.io(), imageId, set, removed);
      return;
    }
    try (RbdImage image = pool.openById(imageId)) {
      set.forEach(image.metadata()::set);
      removed.forEach(image.metadata()::remove);
    }
  }

  private VolumeException damaged(String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION, "the image of " + owner.volumeId() + " cannot be used: " + why);
  }
}
