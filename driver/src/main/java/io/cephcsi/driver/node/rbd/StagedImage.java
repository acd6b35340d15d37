package io.cephcsi.driver.node.rbd;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.FileStat;
import io.cephcsi.bindings.linux.OpenFile;
import io.cephcsi.driver.node.attach.AttacherKind;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.node.attach.NbdLog;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a staged RBD volume is, kept beside its staging path in ceph-csi's file {@code
 * image-meta.json}: the only thing that NodeUnstageVolume, which carries a path and no secrets, has
 * to go by. It has no secrets.
 *
 * @param image which image
 * @param kind how it was attached
 * @param unmapOptions for detaching
 * @param device its block device; empty while it is being attached
 * @param clusterId its cluster in the configuration; empty in files that ceph-csi wrote
 * @param encrypted whether a decrypted device lies on the device
 * @param files whether the files in it are encrypted; false in files that ceph-csi wrote
 * @param log what becomes of the log of rbd-nbd; empty for none
 */
public record StagedImage(
    ImageSpec image,
    AttacherKind kind,
    String unmapOptions,
    String device,
    String clusterId,
    boolean encrypted,
    boolean files,
    Optional<NbdLog> log) {
  static final String FILE = "image-meta.json";

  /** Only this driver writes it. */
  private static final String FILES = "encryptedFiles";

  private static final int VERSION = 3;
  private static final int MOST_BYTES = 64 << 10;

  /** One that is not encrypted. */
  public StagedImage(
      ImageSpec image, AttacherKind kind, String unmapOptions, String device, String clusterId) {
    this(image, kind, unmapOptions, device, clusterId, false, false, Optional.empty());
  }

  /** The same with a log. */
  StagedImage with(Optional<NbdLog> other) {
    return new StagedImage(image, kind, unmapOptions, device, clusterId, encrypted, files, other);
  }

  /** The same as one whose blocks or files are encrypted, or not. */
  StagedImage encrypted(boolean on, boolean ofFiles) {
    return new StagedImage(image, kind, unmapOptions, device, clusterId, on, ofFiles, log);
  }

  /** The same when it has a device. */
  StagedImage at(Path path) {
    return new StagedImage(
        image, kind, unmapOptions, path.toString(), clusterId, encrypted, files, log);
  }

  /**
   * Reads the file in a staging path; empty when there is none. A link is not followed.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is damaged, or something else
   */
  public static Optional<StagedImage> read(Path stagingPath) {
    Path file = stagingPath.resolve(FILE);
    try (OpenFile held = OpenFile.of(file)) {
      FileStat facts = held.stat();
      if (!facts.isRegular() || !facts.isOwn() || facts.size() > MOST_BYTES) {
        throw foreign(file, "it is no small file of this user's", null);
      }
      JsonNode json = Json.mapper().readTree(held.read(MOST_BYTES));
      String pool = json.path("pool").asText("");
      String image = json.path("image").asText("");
      if (pool.isEmpty() || image.isEmpty()) {
        throw foreign(file, "it names no pool and image", null);
      }
      for (JsonNode value : json) {
        if (value.asText("").chars().anyMatch(Character::isISOControl)) {
          throw foreign(file, "it has control characters", null);
        }
      }
      boolean nbd = json.path("accessType").asBoolean(false);
      return Optional.of(
          new StagedImage(
              new ImageSpec(pool, json.path("radosNamespace").asText(""), image),
              AttacherKind.named(json.path("mounter").asText(""))
                  .orElse(nbd ? AttacherKind.NBD : AttacherKind.KRBD),
              json.path("unmapOptions").asText(""),
              json.path("device").asText(""),
              json.path("clusterID").asText(""),
              json.path("encrypted").asBoolean(false),
              json.path(FILES).asBoolean(false),
              log(json)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    } catch (IOException | CephException e) {
      throw foreign(file, "it cannot be read", e);
    }
  }

  /** Those of ceph-csi may be anywhere, and stay. */
  private static Optional<NbdLog> log(JsonNode json) {
    try {
      return NbdLog.of(json.path("logDir").asText(""), json.path("logFileStrategy").asText(""));
    } catch (VolumeException e) {
      return Optional.empty();
    }
  }

  /** What is damaged or somebody else's is neither followed nor replaced. */
  private static VolumeException foreign(Path file, String why, @Nullable Exception cause) {
    String message = file + " is not what this driver wrote: " + why;
    return cause == null
        ? new VolumeException(Reason.FAILED_PRECONDITION, message)
        : new VolumeException(Reason.FAILED_PRECONDITION, message, cause);
  }

  /** Reads the file beside the path where a volume is mounted; empty when there is none. */
  static Optional<StagedImage> beside(Path mountPath) {
    return Optional.ofNullable(mountPath.getParent()).flatMap(StagedImage::read);
  }

  /** Whether there is such a file beside a path: a volume is staged there. */
  static boolean isBeside(Path mountPath) {
    return Files.exists(mountPath.resolveSibling(FILE));
  }

  /** Whether such a file beside a path names the volume that the path is named after. */
  static boolean isOfPlace(Path mountPath) {
    try {
      return beside(mountPath)
          .filter(staged -> staged.isOfVolume(String.valueOf(mountPath.getFileName())))
          .isPresent();
    } catch (VolumeException e) {
      return false; // damaged, or somebody else's
    }
  }

  /** Whether the image may be of a cluster, as far as that is known. */
  boolean isOf(String cluster) {
    return clusterId.isEmpty() || clusterId.equals(cluster);
  }

  /** As {@link ImageSpec#isOfVolume}. */
  boolean isOfVolume(String volumeId) {
    return image.isOfVolume(volumeId);
  }

  /**
   * Reads the file in a staging path that another volume has.
   *
   * @throws VolumeException as {@link #read}
   */
  static Optional<StagedImage> ofAnother(Path stagingPath, String volumeId) {
    return read(stagingPath).filter(staged -> !staged.isOfVolume(volumeId));
  }

  /** Writes the file, whole or not at all; it survives a crash of the machine. */
  public void write(Path stagingPath) {
    ObjectNode json = Json.mapper().createObjectNode();
    json.put("Version", VERSION);
    json.put("pool", image.pool());
    json.put("radosNamespace", image.namespace());
    json.put("image", image.image());
    json.put("encrypted", encrypted);
    json.put("unmapOptions", unmapOptions);
    json.put("accessType", kind == AttacherKind.NBD);
    json.put("device", device);
    json.put("logDir", log.map(one -> one.directory().toString()).orElse(""));
    json.put("logFileStrategy", log.map(one -> one.strategy().word()).orElse(""));
    json.put("mounter", kind.mounter());
    json.put("clusterID", clusterId);
    if (files) {
      json.put(FILES, true);
    }
    Path fresh = stagingPath.resolve(FILE + ".new");
    try {
      Files.deleteIfExists(fresh); // of a call that died
      try (FileChannel channel =
          FileChannel.open(fresh, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
        ByteBuffer bytes = ByteBuffer.wrap(json.toString().getBytes(UTF_8));
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
        channel.force(true);
      }
      Files.move(fresh, stagingPath.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new VolumeException(Reason.FAILED_PRECONDITION, fresh + " cannot be written: " + e, e);
    }
  }

  /** Removes the file; nothing to do when there is none. */
  public static void remove(Path stagingPath) {
    try {
      Files.deleteIfExists(stagingPath.resolve(FILE + ".new"));
      Files.deleteIfExists(stagingPath.resolve(FILE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
