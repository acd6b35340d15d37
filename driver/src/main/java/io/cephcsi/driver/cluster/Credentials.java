package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A Ceph user and its key, with whatever else the secrets of the same call have, which a KMS may
 * need. That does not tell users apart: two are equal by id and key. {@link #toString()} shows the
 * id alone.
 *
 * @param userId the id without {@code client.}
 * @param key the secret in base64; its length differs between releases of Ceph
 * @param others the other secrets
 */
public record Credentials(String userId, String key, Map<String, String> others) {
  private static final String CLIENT = "client.";

  /** Without commas, quotes and spaces: mount.ceph(8) and the kernel get it among options. */
  private static final Pattern ID = Pattern.compile("[A-Za-z0-9._:@][A-Za-z0-9._:@-]{0,254}");

  private static final Set<String> OF_CEPH =
      Set.of("userID", "userKey", "adminID", "adminKey", "adminId", "key");

  /** Copies the other secrets. */
  public Credentials {
    others = Map.copyOf(others);
  }

  /** A user without other secrets. */
  public Credentials(String userId, String key) {
    this(userId, key, Map.of());
  }

  /** The user alone, for what outlives a call. */
  public Credentials alone() {
    return others.isEmpty() ? this : new Credentials(userId, key);
  }

  /** Whether a key of secrets is one that has a Ceph user or its key. */
  public static boolean isOfCeph(String key) {
    return OF_CEPH.contains(key);
  }

  private Credentials with(Map<String, String> secrets) {
    Map<String, String> more = new LinkedHashMap<>(secrets);
    more.keySet().removeAll(OF_CEPH);
    return new Credentials(userId, key, more);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Credentials user && userId.equals(user.userId) && key.equals(user.key);
  }

  @Override
  public int hashCode() {
    return Objects.hash(userId, key);
  }

  /**
   * The credentials in an RPC's secrets: {@code userID} and {@code userKey}; or as Kubernetes'
   * in-tree plugin had them: {@code key}, and {@code adminId} if that is not {@code admin}.
   *
   * @throws VolumeException UNAUTHENTICATED when one of them is missing, or no user has such an id
   */
  public static Credentials fromSecrets(Map<String, String> secrets) {
    boolean inTree =
        secrets.containsKey("key")
            && !secrets.containsKey("userID")
            && !secrets.containsKey("userKey");
    Credentials user =
        inTree
            ? of(secrets.getOrDefault("adminId", "admin"), secrets.get("key"))
            : of(secrets.get("userID"), secrets.get("userKey"));
    return user.with(secrets);
  }

  /**
   * The credentials of a CephFS provisioner: {@code adminID} and {@code adminKey}, or else {@code
   * userID} and {@code userKey}.
   *
   * @throws VolumeException UNAUTHENTICATED when neither pair is there
   */
  public static Credentials fromAdminSecrets(Map<String, String> secrets) {
    return secrets.containsKey("adminID") || secrets.containsKey("adminKey")
        ? of(secrets.get("adminID"), secrets.get("adminKey")).with(secrets)
        : fromSecrets(secrets);
  }

  /**
   * The credentials of who uses a volume that no driver made: {@code userID} and {@code userKey},
   * or else {@code adminID} and {@code adminKey}.
   *
   * @throws VolumeException UNAUTHENTICATED when neither pair is there
   */
  public static Credentials fromUserSecrets(Map<String, String> secrets) {
    return secrets.containsKey("userID") || secrets.containsKey("userKey")
        ? fromSecrets(secrets)
        : fromAdminSecrets(secrets);
  }

  private static Credentials of(@Nullable String userId, @Nullable String key) {
    String id = userId == null ? "" : userId.strip();
    id = id.startsWith(CLIENT) ? id.substring(CLIENT.length()) : id;
    if (id.isEmpty() || key == null || key.isBlank()) {
      throw new VolumeException(
          Reason.UNAUTHENTICATED,
          "secrets: the id of a Ceph user and its key are required (userID, userKey;"
              + " for CephFS also adminID, adminKey)");
    }
    if (!ID.matcher(id).matches()) {
      throw new VolumeException( // does not show it: it may be the key, in the wrong place
          Reason.UNAUTHENTICATED,
          "secrets: the id of a Ceph user has at most 255 letters, digits and ._:@-, and no - first");
    }
    return new Credentials(id, key.strip());
  }

  /**
   * Whether the key is of the type aes256k, which librados can read from 19.2.6 and 20.2.4 on. Its
   * first two bytes are the type, of which 1 is aes.
   */
  boolean isAes256k() {
    if (key.length() < 4) {
      return false;
    }
    try {
      byte[] begin = Base64.getDecoder().decode(key.substring(0, 4));
      return begin[0] == 2 && begin[1] == 0;
    } catch (IllegalArgumentException e) {
      return false; // no key at all: librados says so
    }
  }

  @Override
  public String toString() {
    return CLIENT + userId;
  }
}
