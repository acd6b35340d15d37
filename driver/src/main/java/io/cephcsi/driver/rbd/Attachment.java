package io.cephcsi.driver.rbd;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.journal.JournalEntry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * That a volume was given to a node, as it is recorded in the volume's journal object, beside the
 * keys of ceph-csi, which ignores it:
 *
 * <pre>
 *   csi.java.publish             → a number that every change of the keys below replaces
 *   csi.java.publish.[node id]   → {"readonly":false,"mode":"SINGLE_NODE_WRITER","access":"mount"}
 * </pre>
 *
 * @param nodeId the node
 * @param readonly whether the node may only read
 * @param mode the access mode, by its name in CSI
 * @param access {@code mount} or {@code block}
 */
public record Attachment(String nodeId, boolean readonly, String mode, String access) {
  /** The key that guards all attachments of a volume. */
  static final String GENERATION = "csi.java.publish";

  private static final String PREFIX = GENERATION + ".";
  private static final String READONLY = "readonly";
  private static final String MODE = "mode";
  private static final String ACCESS = "access";
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Whether the volume may be on this node only. */
  boolean isSingleNode() {
    return mode.startsWith("SINGLE_NODE");
  }

  /** Whether this node may write, and no other beside it. */
  boolean isOnlyWriter() {
    return mode.equals("MULTI_NODE_SINGLE_WRITER") && !readonly;
  }

  /** The omap key. */
  String key() {
    return PREFIX + nodeId;
  }

  /** The omap value. */
  byte[] encode() {
    Map<String, Object> value = new LinkedHashMap<>();
    value.put(READONLY, readonly);
    value.put(MODE, mode);
    value.put(ACCESS, access);
    try {
      return JSON.writeValueAsString(value).getBytes(StandardCharsets.UTF_8);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of strings is always JSON", e);
    }
  }

  /** The attachments that a volume's journal entry records, by node id. */
  public static List<Attachment> of(JournalEntry entry) {
    List<Attachment> attachments = new ArrayList<>();
    entry
        .attributes()
        .forEach(
            (key, value) -> {
              if (key.startsWith(PREFIX)) {
                attachments.add(decode(key.substring(PREFIX.length()), value));
              }
            });
    attachments.sort((a, b) -> a.nodeId.compareTo(b.nodeId));
    return attachments;
  }

  /** What cannot be read still is an attachment: nobody else may have the volume. */
  private static Attachment decode(String nodeId, String value) {
    JsonNode json;
    try {
      json = JSON.readTree(value);
    } catch (JsonProcessingException e) {
      json = JSON.createObjectNode();
    }
    return new Attachment(
        nodeId,
        json.path(READONLY).asBoolean(false),
        json.path(MODE).asText("SINGLE_NODE_WRITER"),
        json.path(ACCESS).asText("mount"));
  }
}
