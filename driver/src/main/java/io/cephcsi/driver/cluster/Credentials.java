package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Base64;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A Ceph user and its key. {@link #toString()} does not show the key.
 *
 * @param userId the id without {@code client.}
 * @param key the secret in base64; its length differs between releases of Ceph
 */
public record Credentials(String userId, String key) {
  private static final String CLIENT = "client.";

  /**
   * The credentials in an RPC's secrets: {@code userID} and {@code userKey}; or as Kubernetes'
   * in-tree plugin had them: {@code key}, and {@code adminId} if that is not {@code admin}.
   *
   * @throws VolumeException UNAUTHENTICATED when one of them is missing
   */
  public static Credentials fromSecrets(Map<String, String> secrets) {
    boolean inTree =
        secrets.containsKey("key")
            && !secrets.containsKey("userID")
            && !secrets.containsKey("userKey");
    return inTree
        ? of(secrets.getOrDefault("adminId", "admin"), secrets.get("key"))
        : of(secrets.get("userID"), secrets.get("userKey"));
  }

  /**
   * The credentials of a CephFS provisioner: {@code adminID} and {@code adminKey}, or else {@code
   * userID} and {@code userKey}.
   *
   * @throws VolumeException UNAUTHENTICATED when neither pair is there
   */
  public static Credentials fromAdminSecrets(Map<String, String> secrets) {
    return secrets.containsKey("adminID") || secrets.containsKey("adminKey")
        ? of(secrets.get("adminID"), secrets.get("adminKey"))
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
