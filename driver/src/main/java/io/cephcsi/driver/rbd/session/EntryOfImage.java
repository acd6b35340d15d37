package io.cephcsi.driver.rbd.session;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.image.EntryRecord;
import io.cephcsi.driver.rbd.image.ImageLabels;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the metadata of a mirrored volume's image say of its journal entry: the record that the
 * driver of the other site wrote; without that, as ceph-csi's controller of volumes makes the
 * entry, the names of Kubernetes that a provisioner wrote there. Pure.
 */
public final class EntryOfImage {
  /** The keys of the metadata that tell it. */
  public static final List<String> KEYS =
      List.of(EntryRecord.KEY, ImageLabels.PV_NAME, ImageLabels.PVC_NAMESPACE, ImageKey.STATE);

  private EntryOfImage() {}

  /**
   * Whether the first call for a volume can make its entry while its image is mirrored.
   *
   * @param image the name of the image
   * @param metadata of the image, those of {@link #KEYS} that it has
   */
  public static boolean isKnown(String image, Map<String, String> metadata) {
    return recorded(image, metadata).or(() -> labelled(image, metadata)).isPresent();
  }

  /** What the driver of the other site recorded; empty if that is of another image. */
  public static Optional<EntryRecord> recorded(String image, Map<String, String> metadata) {
    return Optional.ofNullable(metadata.get(EntryRecord.KEY))
        .flatMap(EntryRecord::parse)
        .filter(record -> record.image().equals(image));
  }

  /** Which KMS has a passphrase, names of Kubernetes do not tell. */
  static Optional<EntryRecord> labelled(String image, Map<String, String> metadata) {
    String name = metadata.getOrDefault(ImageLabels.PV_NAME, "");
    if (name.isEmpty() || metadata.containsKey(ImageKey.STATE)) {
      return Optional.empty();
    }
    Map<String, String> attributes = new LinkedHashMap<>();
    String owner = metadata.getOrDefault(ImageLabels.PVC_NAMESPACE, "");
    if (!owner.isEmpty()) {
      attributes.put(JournalEntry.OWNER, owner);
    }
    return Optional.of(new EntryRecord(name, image, attributes));
  }
}
