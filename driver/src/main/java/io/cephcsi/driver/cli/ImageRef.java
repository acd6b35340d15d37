package io.cephcsi.driver.cli;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;

/**
 * An image that the command line names.
 *
 * @param pool the pool's name
 * @param namespace empty for the default one
 * @param image the image's name
 */
record ImageRef(String pool, String namespace, String image) {
  /**
   * Reads {@code POOL[/NAMESPACE]/IMAGE} or a volume id.
   *
   * @param cluster asked for the volume's image
   * @param namespace where the image is when the text does not say it
   * @throws VolumeException NOT_FOUND when a volume id leads to no image
   */
  static ImageRef resolve(String text, RadosCluster cluster, String namespace, String instanceId) {
    String[] parts = parts(text);
    return switch (parts.length) {
      case 2 -> new ImageRef(parts[0], namespace, parts[1]);
      case 3 -> new ImageRef(parts[0], parts[1], parts[2]);
      default -> byId(VolumeId.parse(text).orElseThrow(), cluster, namespace, instanceId);
    };
  }

  /**
   * Checks the form of a text before anything is done.
   *
   * @throws ConfigException if it names neither an image nor a volume
   */
  static void requireForm(String text) {
    parts(text);
  }

  private static String[] parts(String text) {
    String[] parts = text.split("/", -1);
    boolean isForm = parts.length == 1 ? VolumeId.parse(text).isPresent() : parts.length <= 3;
    if (!isForm || List.of(parts).contains("")) {
      throw wrong(text);
    }
    return parts;
  }

  private static ConfigException wrong(String text) {
    return new ConfigException(text + " is neither POOL[/NAMESPACE]/IMAGE nor a volume id");
  }

  private static ImageRef byId(
      VolumeId id, RadosCluster cluster, String namespace, String instanceId) {
    try (IoContext io = cluster.openPool(id.location(), namespace)) {
      Optional<JournalEntry> entry =
          new Journal(JournalKind.VOLUME, instanceId, io, io).byUuid(id.uuid());
      return entry
          .map(found -> new ImageRef(io.pool(), namespace, found.name()))
          .orElseThrow(() -> missing(id));
    } catch (CephException.NotFound e) {
      throw missing(id);
    }
  }

  private static VolumeException missing(VolumeId id) {
    return VolumeException.notFound("volume " + id + " does not exist");
  }

  @Override
  public String toString() {
    return pool + "/" + (namespace.isEmpty() ? "" : namespace + "/") + image;
  }
}
