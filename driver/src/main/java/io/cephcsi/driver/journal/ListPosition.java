package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * A position in a list: after a name in the directory of a pool. It needs no state of the driver: a
 * token stays valid over restarts and while names are added and removed.
 *
 * <pre>
 *   token: base64url of   u8 what and version · u32 CRC of clusterID · i64 pool · u32 hash of the
 *                         whole name · name (at most 74 bytes of it) · u32 CRC of all before
 * </pre>
 *
 * <p>A token is a string field of CSI, so it has at most 128 bytes. Of a name that does not fit it
 * has the {@link #stem} and a hash: names with the same stem are listed in the order of their
 * hashes, see {@link NameCursor}.
 *
 * @param kind what is listed
 * @param cluster the hash of the cluster's id
 * @param poolId the pool of the directory
 * @param stem the name, or as much of it as a token holds
 * @param hash of the whole name
 */
public record ListPosition(JournalKind kind, int cluster, long poolId, String stem, int hash) {
  private static final int VERSION = 1;
  private static final int MAX_STEM_BYTES = 74;
  private static final int FIXED_BYTES = 1 + 4 + 8 + 4 + 4;

  /** The position behind a name. */
  public static ListPosition behind(
      JournalKind kind, String clusterId, long poolId, String requestName) {
    return new ListPosition(
        kind, hashOf(clusterId), poolId, stem(requestName), hashOf(requestName));
  }

  /** The name, cut to what a token can hold at the border of a character. */
  static String stem(String name) {
    byte[] bytes = name.getBytes(UTF_8);
    if (bytes.length <= MAX_STEM_BYTES) {
      return name;
    }
    int end = MAX_STEM_BYTES;
    while ((bytes[end] & 0xC0) == 0x80) {
      end--;
    }
    return new String(bytes, 0, end, UTF_8);
  }

  /** A hash that is the same in every process. */
  public static int hashOf(String text) {
    return crc(text.getBytes(UTF_8));
  }

  private static byte header(JournalKind kind) {
    int what =
        switch (kind) {
          case VOLUME -> 0;
          case SNAPSHOT -> 1;
          case GROUP -> 2;
        };
    return (byte) (VERSION << 4 | what);
  }

  private static int crc(byte[] bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return (int) crc.getValue();
  }

  /** Whether this is a position in the lists of a cluster. */
  public boolean isIn(String clusterId) {
    return hashOf(clusterId) == cluster;
  }

  /** The token that stands for this position, at most 128 bytes of ASCII. */
  public String token() {
    byte[] name = stem.getBytes(UTF_8);
    ByteBuffer out = ByteBuffer.allocate(FIXED_BYTES + name.length);
    out.put(header(kind));
    out.putInt(cluster).putLong(poolId).putInt(hash).put(name);
    byte[] soFar = new byte[out.position()];
    out.get(0, soFar);
    out.putInt(crc(soFar));
    return Base64.getUrlEncoder().withoutPadding().encodeToString(out.array());
  }

  /**
   * Reads a token.
   *
   * @throws VolumeException ABORTED when this driver did not give it out for such a list
   */
  public static ListPosition parse(JournalKind kind, String token) {
    byte[] bytes;
    try {
      bytes = Base64.getUrlDecoder().decode(token);
    } catch (IllegalArgumentException e) {
      throw bad(e);
    }
    if (bytes.length < FIXED_BYTES) {
      throw bad(null);
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    byte[] covered = new byte[bytes.length - 4];
    in.get(0, covered);
    if (in.getInt(covered.length) != crc(covered) || in.get() != header(kind)) {
      throw bad(null);
    }
    int cluster = in.getInt();
    long pool = in.getLong();
    int hash = in.getInt();
    byte[] name = new byte[in.remaining() - 4];
    in.get(name);
    String stem = new String(name, UTF_8);
    if (!PlainText.isPlain(stem)) {
      throw bad(null);
    }
    return new ListPosition(kind, cluster, pool, stem, hash);
  }

  private static VolumeException bad(@Nullable Throwable cause) {
    String message = "starting_token is not one that this list gave out; start again without it";
    return cause == null
        ? new VolumeException(Reason.ABORTED, message)
        : new VolumeException(Reason.ABORTED, message, cause);
  }
}
