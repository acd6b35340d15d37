package io.cephcsi.driver.rbd.image;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What the journal says of a mirrored volume, in the metadata of its image, which are mirrored with
 * it: the other site's journal has no entry of the volume, and one is made of this. Pure.
 *
 * <pre>
 *   csi.java.journalentry → {"name": the request's, "image": the name of the image,
 *                            and the keys of owner and KMS as in the journal}
 * </pre>
 *
 * @param requestName the name that the volume was made by
 * @param image the name of its image: clones get the metadata of what they are made from
 * @param attributes further keys of the entry
 */
public record EntryRecord(String requestName, String image, Map<String, String> attributes) {
  /** The key of the metadata. */
  public static final String KEY = "csi.java.journalentry";

  private static final String NAME = "name";
  private static final String IMAGE = "image";
  private static final List<String> KEPT =
      List.of(JournalEntry.OWNER, JournalEntry.ENCRYPTION_KMS, JournalEntry.ENCRYPTION_TYPE);

  /** Copies the attributes. */
  public EntryRecord {
    attributes = Map.copyOf(attributes);
  }

  /** What is to be kept of an entry. */
  public static EntryRecord of(JournalEntry entry) {
    Map<String, String> kept = new TreeMap<>(entry.attributes());
    kept.keySet().retainAll(KEPT);
    return new EntryRecord(entry.requestName(), entry.name(), kept);
  }

  /** Reads the value of the key; empty for what no driver writes. */
  public static Optional<EntryRecord> parse(String json) {
    Object tree;
    try {
      tree = Json.tree(json.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      return Optional.empty();
    }
    if (tree instanceof Map<?, ?> object
        && object.get(NAME) instanceof String name
        && object.get(IMAGE) instanceof String image
        && !name.isEmpty()) {
      Map<String, String> kept = new TreeMap<>();
      for (String key : KEPT) {
        if (object.get(key) instanceof String value) {
          kept.put(key, value);
        }
      }
      return Optional.of(new EntryRecord(name, image, kept));
    }
    return Optional.empty();
  }

  /** The value of the key; the same for the same record. */
  public String toJson() {
    Map<String, String> all = new TreeMap<>(attributes);
    all.put(NAME, requestName);
    all.put(IMAGE, image);
    try {
      return Json.mapper().writeValueAsString(all);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e); // texts alone
    }
  }
}
