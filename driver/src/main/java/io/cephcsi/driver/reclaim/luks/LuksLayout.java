package io.cephcsi.driver.reclaim.luks;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.OptionalLong;

/**
 * What the header says of the data and of its key. Anything that a driver's format does not make is
 * refused: another cipher, integrity, several segments, an unfinished re-encryption.
 *
 * @param dataOffset where the data begin on the device, in bytes
 * @param dataBytes how long they are; empty for up to the end
 * @param firstNumber that of the first sector, in units of 512 bytes
 * @param sectorBytes what is encrypted at a time
 * @param keyBytes of the key of the data
 * @param slots where the key is, encrypted by passphrases
 * @param digest by which the key is known
 */
record LuksLayout(
    long dataOffset,
    OptionalLong dataBytes,
    long firstNumber,
    int sectorBytes,
    int keyBytes,
    List<LuksLayout.Slot> slots,
    LuksLayout.Digest digest) {
  private static final int STRIPES = 4000;
  private static final int MOST_LANES = 64;
  private static final int LONGEST_DIGEST = 64;
  private static final int LONGEST_SALT = 128;

  /**
   * A slot.
   *
   * @param number such as {@code 0}
   * @param offset of its area on the device, in bytes
   * @param afHash by which the key is spread over the area
   * @param areaKeyBytes of the key that encrypts the area
   */
  record Slot(String number, long offset, String afHash, int areaKeyBytes, Derivation derivation) {
    /** The length of the spread key, in bytes. */
    int spreadBytes(int keyBytes) {
      return keyBytes * STRIPES;
    }

    int stripes() {
      return STRIPES;
    }
  }

  /** How a passphrase becomes a key. */
  sealed interface Derivation {}

  /**
   * Argon2.
   *
   * @param id whether it is Argon2id, and not Argon2i
   */
  @SuppressWarnings("ArrayRecordComponent") // not compared
  record Argon2(boolean id, int iterations, int memoryKib, int lanes, byte[] salt)
      implements Derivation {}

  /** PBKDF2. */
  @SuppressWarnings("ArrayRecordComponent") // not compared
  record Pbkdf2(String hash, int iterations, byte[] salt) implements Derivation {}

  /** What PBKDF2 makes of the key of the data. */
  @SuppressWarnings("ArrayRecordComponent") // not compared
  record Digest(Pbkdf2 derivation, byte[] value) {}

  /**
   * Reads it.
   *
   * @param deviceBytes the size of the device
   */
  static LuksLayout of(LuksHeader header, long deviceBytes, LuksLimits limits) throws LuksRefusal {
    JsonNode json = header.json();
    JsonNode requirements = json.path("config").path("requirements");
    if (!isNone(requirements) && !isNone(requirements.path("mandatory"))) {
      throw LuksRefusal.unsupported(
          "the header of LUKS has requirements, as while it is encrypted anew");
    }
    JsonNode segments = json.path("segments");
    if (segments.size() != 1 || !segments.has("0")) {
      throw LuksRefusal.unsupported("LUKS has not just one segment");
    }
    JsonNode segment = segments.path("0");
    if (!segment.path("type").asText().equals("crypt")
        || !limits.ciphers().contains(segment.path("encryption").asText())
        || segment.has("integrity")
        || !isNone(segment.path("flags"))) {
      throw LuksRefusal.unsupported(
          "the data of LUKS are not those of " + String.join(" or ", limits.ciphers()) + " alone");
    }
    int sector = (int) whole(segment, "sector_size", 512, 4096);
    long offset = whole(segment, "offset", 2L * header.bytes(), deviceBytes);
    boolean dynamic = segment.path("size").asText().equals("dynamic");
    long length = dynamic ? deviceBytes - offset : whole(segment, "size", 1, deviceBytes - offset);
    LuksRefusal.require(
        Integer.bitCount(sector) == 1 && offset % 4096 == 0 && (dynamic || length % sector == 0),
        "the data of LUKS begin or end within a sector");
    if (offset > limits.mostOffset()) {
      throw LuksRefusal.unsupported(
          "the data of LUKS begin behind the first " + limits.mostOffset() + " bytes");
    }
    JsonNode digest = digest(json);
    return new LuksLayout(
        offset,
        dynamic ? OptionalLong.empty() : OptionalLong.of(length),
        whole(segment, "iv_tweak", 0, Long.MAX_VALUE / 2),
        sector,
        keyBytes(json, limits),
        slots(json, digest.path("keyslots"), header, offset, limits),
        digestOf(digest, limits));
  }

  /** Whether nothing is there, or an object or list of nothing. */
  static boolean isNone(JsonNode node) {
    return node.isMissingNode() || (node.isContainerNode() && node.isEmpty());
  }

  /** cryptsetup gives it another number when the data are encrypted anew. */
  private static JsonNode digest(JsonNode json) throws LuksRefusal {
    JsonNode digests = json.path("digests");
    JsonNode digest = digests.size() == 1 ? digests.elements().next() : MissingNode.getInstance();
    if (!digest.path("type").asText().equals("pbkdf2")) {
      throw LuksRefusal.unsupported("LUKS has not just one digest, of PBKDF2");
    }
    LuksRefusal.require(
        names(digest.path("segments"), "0"), "the digest of LUKS is not that of its segment");
    return digest;
  }

  private static Digest digestOf(JsonNode digest, LuksLimits limits) throws LuksRefusal {
    byte[] value = bytes(digest, "digest");
    LuksRefusal.require(
        value.length >= 16 && value.length <= LONGEST_DIGEST,
        "the digest of LUKS has a length that none has");
    return new Digest(pbkdf2(digest, limits.digestIterations()), value);
  }

  private static boolean names(JsonNode list, String wanted) {
    for (JsonNode name : list) {
      if (name.asText().equals(wanted)) {
        return true;
      }
    }
    return false;
  }

  private static int keyBytes(JsonNode json, LuksLimits limits) throws LuksRefusal {
    int found = 0;
    for (String name : limits.slots(json.path("keyslots"))) {
      int bytes = key(json.path("keyslots").path(name));
      LuksRefusal.require(found == 0 || found == bytes, "the slots of LUKS have other keys");
      found = bytes;
    }
    if (found == 0) {
      throw LuksRefusal.unsupported("LUKS has none of the slots that are looked at");
    }
    return found;
  }

  private static int key(JsonNode of) throws LuksRefusal {
    int bytes = (int) whole(of, "key_size", 32, 64);
    LuksRefusal.require(bytes == 32 || bytes == 64, "a key of LUKS has a length that none has");
    return bytes;
  }

  private static List<Slot> slots(
      JsonNode json, JsonNode ofDigest, LuksHeader header, long dataOffset, LuksLimits limits)
      throws LuksRefusal {
    List<Slot> slots = new ArrayList<>();
    for (String name : limits.slots(json.path("keyslots"))) {
      JsonNode slot = json.path("keyslots").path(name);
      if (!names(ofDigest, name)) {
        if (limits.onlyKnown()) {
          throw LuksRefusal.unsupported("a slot of LUKS is not for its data");
        }
        continue;
      }
      JsonNode af = slot.path("af");
      JsonNode area = slot.path("area");
      if (!slot.path("type").asText().equals("luks2")
          || !af.path("type").asText().equals("luks1")
          || af.path("stripes").asInt() != STRIPES
          || !area.path("type").asText().equals("raw")
          || !limits.ciphers().contains(area.path("encryption").asText())) {
        throw LuksRefusal.unsupported("a slot of LUKS is of a kind not known here");
      }
      long size = whole(area, "size", (long) key(slot) * STRIPES, dataOffset);
      long offset = whole(area, "offset", 2L * header.bytes(), dataOffset - size);
      slots.add(new Slot(name, offset, hash(af), key(area), derivation(slot.path("kdf"), limits)));
    }
    return slots;
  }

  private static Derivation derivation(JsonNode kdf, LuksLimits limits) throws LuksRefusal {
    String type = kdf.path("type").asText();
    if (type.equals("pbkdf2")) {
      return pbkdf2(kdf, limits.iterations());
    }
    if (!type.equals("argon2id") && !type.equals("argon2i")) {
      throw LuksRefusal.unsupported("a slot of LUKS derives its key in a way not known here");
    }
    long memory = kdf.path("memory").asLong();
    long time = kdf.path("time").asLong();
    if (memory > limits.memoryKib() || (memory > 0 && time > limits.workKib() / memory)) {
      throw LuksRefusal.unsupported(
          "to derive the key of LUKS takes " + memory + " KiB " + time + " times: too much here");
    }
    return new Argon2(
        type.equals("argon2id"),
        (int) whole(kdf, "time", 1, Integer.MAX_VALUE),
        (int) whole(kdf, "memory", 8, limits.memoryKib()),
        (int) whole(kdf, "cpus", 1, MOST_LANES),
        salt(kdf));
  }

  private static Pbkdf2 pbkdf2(JsonNode of, int most) throws LuksRefusal {
    if (of.path("iterations").asLong() > most) {
      throw LuksRefusal.unsupported(
          "LUKS derives a key in more than " + most + " iterations: too much here");
    }
    return new Pbkdf2(hash(of), (int) whole(of, "iterations", 1, most), salt(of));
  }

  private static String hash(JsonNode of) throws LuksRefusal {
    String hash = of.path("hash").asText();
    if (!hash.equals("sha256") && !hash.equals("sha512")) {
      throw LuksRefusal.unsupported("LUKS uses a hash that is neither sha256 nor sha512");
    }
    return hash;
  }

  private static byte[] salt(JsonNode of) throws LuksRefusal {
    byte[] salt = bytes(of, "salt");
    LuksRefusal.require(
        salt.length >= 8 && salt.length <= LONGEST_SALT,
        "a salt of LUKS has a length that none has");
    return salt;
  }

  private static byte[] bytes(JsonNode of, String field) throws LuksRefusal {
    try {
      return Base64.getDecoder().decode(of.path(field).asText());
    } catch (IllegalArgumentException e) {
      throw LuksRefusal.inconsistent("the header of LUKS has no Base64 as " + field);
    }
  }

  /** A number, which LUKS writes as a text when it may be large. */
  private static long whole(JsonNode of, String field, long least, long most) throws LuksRefusal {
    String text = of.path(field).asText();
    try {
      long number = Long.parseLong(text);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // as below: the text is not shown, as it is a tenant's
    }
    throw new LuksRefusal(
        RefusalReason.INCONSISTENT, "the header of LUKS has a wrong number as " + field);
  }
}
