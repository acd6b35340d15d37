package io.cephcsi.driver.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.reclaim.Discarded;
import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.TrimReport;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.PlainText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The file of a {@link PoolState}: JSON, replaced as a whole, so that a process that is killed
 * leaves the one before or the new one.
 */
final class PoolStateFile {
  private static final String FORMAT = "ceph-csi reclaim --pool 1";
  private static final long MOST_BYTES = 512L << 20;

  private PoolStateFile() {}

  /**
   * What stands in a file.
   *
   * @param run the cluster, pool and options that it is of
   * @param estimated whether all images are estimated
   * @param images the estimates
   * @param outcomes what became of images, by their ids
   */
  record Content(
      Map<String, String> run,
      boolean estimated,
      List<ImageEstimate> images,
      Map<String, PoolOutcome> outcomes) {}

  /** The bytes of a file. */
  static byte[] encode(
      Map<String, String> run,
      boolean estimated,
      Collection<ImageEstimate> images,
      Map<String, PoolOutcome> outcomes) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonGenerator json = Json.mapper().createGenerator(bytes)) {
      json.writeStartObject();
      json.writeStringField("format", FORMAT);
      json.writeObjectFieldStart("run");
      for (Map.Entry<String, String> each : run.entrySet()) {
        json.writeStringField(each.getKey(), each.getValue());
      }
      json.writeEndObject();
      json.writeBooleanField("estimated", estimated);
      json.writeArrayFieldStart("images");
      for (ImageEstimate image : images) {
        encode(json, image);
        PoolOutcome outcome = outcomes.get(image.id());
        if (outcome != null) {
          encode(json, outcome);
        }
        json.writeEndObject();
        json.writeRaw('\n');
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // it is written to memory
    }
    return bytes.toByteArray();
  }

  private static void encode(JsonGenerator json, ImageEstimate image) throws IOException {
    TrimReport trim = image.trim();
    json.writeStartObject();
    json.writeStringField("id", image.id());
    json.writeStringField("name", image.name());
    json.writeStringField("reason", trim.reason());
    json.writeStringField("detail", trim.detail());
    json.writeStringField("fileSystem", trim.fileSystem());
    json.writeNumberField("bytes", trim.discarded().bytes());
    json.writeNumberField("objects", trim.discarded().objects());
    json.writeNumberField("insideBytes", trim.discarded().insideBytes());
    json.writeNumberField("operations", trim.discarded().operations());
  }

  private static void encode(JsonGenerator json, PoolOutcome outcome) throws IOException {
    json.writeObjectFieldStart("outcome");
    json.writeStringField("kind", outcome.kind().word());
    json.writeStringField("reason", outcome.reason());
    json.writeNumberField("freedBytes", outcome.freedBytes());
    json.writeNumberField("freedObjects", outcome.freedObjects());
    json.writeNumberField("discardedBytes", outcome.discardedBytes());
    json.writeNumberField("insideBytes", outcome.insideBytes());
    json.writeEndObject();
  }

  /** Replaces a file, so that it is the old one or the new one whatever happens meanwhile. */
  static void write(Path file, byte[] content) {
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    try {
      Files.deleteIfExists(fresh); // of a process that died
      try (FileChannel channel =
          FileChannel.open(
              fresh,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
        ByteBuffer bytes = ByteBuffer.wrap(content);
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
        channel.force(true);
      }
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
      Path folder = file.toAbsolutePath().getParent();
      try (FileChannel names = FileChannel.open(folder == null ? Path.of("/") : folder)) {
        names.force(true);
      }
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be written: " + e, e);
    }
  }

  /**
   * Reads a file.
   *
   * @throws ConfigException when it is no state
   */
  static Content read(Path file) {
    try {
      if (!Files.isRegularFile(file)) {
        throw wrong(file, "it is no regular file");
      }
      if (Files.size(file) > MOST_BYTES) {
        throw wrong(file, "it has more than " + MOST_BYTES + " bytes");
      }
      return decode(Json.mapper().readTree(Files.readAllBytes(file)));
    } catch (JsonProcessingException e) {
      throw wrong(file, "it is not JSON: " + e.getOriginalMessage());
    } catch (IllegalArgumentException e) {
      throw wrong(file, String.valueOf(e.getMessage()));
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be read: " + e, e);
    }
  }

  private static ConfigException wrong(Path file, String why) {
    return new ConfigException(
        file
            + " is not the state of a run of reclaim --pool: "
            + why
            + "; remove it to begin anew, or name another file");
  }

  private static Content decode(JsonNode root) {
    if (!FORMAT.equals(text(root, "format"))) {
      throw new IllegalArgumentException(
          "its format is " + PlainText.show(text(root, "format")) + ", not \"" + FORMAT + "\"");
    }
    Map<String, String> run = new LinkedHashMap<>();
    JsonNode of = root.path("run");
    of.fieldNames().forEachRemaining(name -> run.put(name, text(of, name)));
    if (!root.path("estimated").isBoolean() || !root.path("images").isArray()) {
      throw new IllegalArgumentException("estimated or images are missing");
    }
    List<ImageEstimate> images = new ArrayList<>();
    Map<String, PoolOutcome> outcomes = new LinkedHashMap<>();
    for (JsonNode node : root.path("images")) {
      ImageEstimate image = image(node);
      images.add(image);
      if (node.has("outcome") && outcomes.put(image.id(), outcome(node.path("outcome"))) != null) {
        throw new IllegalArgumentException("image " + image.id() + " is in it twice");
      }
    }
    return new Content(run, root.path("estimated").booleanValue(), images, outcomes);
  }

  private static ImageEstimate image(JsonNode node) {
    Discarded discarded =
        new Discarded(
            count(node, "bytes"),
            count(node, "objects"),
            count(node, "insideBytes"),
            count(node, "operations"));
    return new ImageEstimate(
        text(node, "id"),
        text(node, "name"),
        new TrimReport(
            text(node, "reason"),
            text(node, "detail"),
            text(node, "fileSystem"),
            discarded,
            Optional.empty()));
  }

  private static PoolOutcome outcome(JsonNode node) {
    String word = text(node, "kind");
    for (PoolOutcome.Kind kind : PoolOutcome.Kind.values()) {
      if (kind.word().equals(word)) {
        return new PoolOutcome(
            kind,
            text(node, "reason"),
            count(node, "freedBytes"),
            count(node, "freedObjects"),
            count(node, "discardedBytes"),
            count(node, "insideBytes"));
      }
    }
    throw new IllegalArgumentException("the outcome " + PlainText.show(word) + " is not known");
  }

  private static String text(JsonNode node, String field) {
    JsonNode value = node.path(field);
    if (!value.isTextual()) {
      throw new IllegalArgumentException(field + " is missing or no text");
    }
    return value.textValue();
  }

  private static long count(JsonNode node, String field) {
    JsonNode value = node.path(field);
    if (!value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < 0) {
      throw new IllegalArgumentException(field + " is missing or no number from 0 on");
    }
    return value.longValue();
  }

  /**
   * Requires that a file is of the run that wants it.
   *
   * @throws ConfigException saying what is different
   */
  static void requireSame(Path file, Map<String, String> was, Map<String, String> is) {
    Set<String> names = new TreeSet<>(was.keySet());
    names.addAll(is.keySet());
    for (String name : names) {
      String before = was.getOrDefault(name, "");
      String now = is.getOrDefault(name, "");
      ConfigException.require(
          before.equals(now),
          file
              + " is the state of another run: "
              + name
              + " was "
              + PlainText.show(before)
              + " there and is "
              + PlainText.show(now)
              + " here; repeat that command, or name another file");
    }
  }
}
