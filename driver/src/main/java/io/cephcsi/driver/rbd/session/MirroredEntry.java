package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.ImageDirectory;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rbd.ImageName;
import io.cephcsi.bindings.rbd.PoolMirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.AdoptedEntry;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the journal entry of a volume that was mirrored from another site, at the first call for
 * it: images are mirrored, the journal is not. What the entry needs is in the metadata of the image
 * ({@link EntryOfImage}): that of the other site, or names of Kubernetes. An image that is neither
 * is left alone.
 */
final class MirroredEntry {
  private static final Logger LOG = LoggerFactory.getLogger(MirroredEntry.class);

  private final RbdSession session;
  private final RbdPool pool;
  private final VolumeId id;

  /**
   * @param pool where the image may be
   * @param id of the volume
   */
  MirroredEntry(RbdSession session, RbdPool pool, VolumeId id) {
    this.session = session;
    this.pool = pool;
    this.id = id;
  }

  /**
   * Makes the entry; one round trip in a pool that is not mirrored.
   *
   * @return empty if no image of the volume tells what it was
   * @throws io.cephcsi.driver.volume.VolumeException FAILED_PRECONDITION if its name is another
   *     volume's here
   */
  Optional<JournalEntry> make() {
    if (pool.mirrorMode() == PoolMirrorMode.DISABLED) {
      return Optional.empty();
    }
    return image().flatMap(this::make);
  }

  private Optional<ImageName> image() {
    String usual = RbdParameters.DEFAULT_PREFIX + id.uuid();
    return ImageId.find(pool, usual)
        .map(imageId -> new ImageName(imageId, usual))
        .or(this::withAnotherPrefix);
  }

  /** Reads all names in the pool; only where the volume has no image of the usual name. */
  private Optional<ImageName> withAnotherPrefix() {
    List<ImageName> found = new ArrayList<>();
    ImageDirectory.walk(
        pool.io(),
        (name, imageId) -> {
          if (name.endsWith("-" + id.uuid()) && !imageId.isEmpty()) {
            found.add(new ImageName(imageId, name));
          }
        });
    return found.size() == 1 ? Optional.of(found.get(0)) : Optional.empty();
  }

  private Optional<JournalEntry> make(ImageName image) {
    Map<String, String> metadata = HeaderMetadata.read(pool.io(), image.id(), EntryOfImage.KEYS);
    return EntryOfImage.recorded(image.name(), metadata)
        .or(() -> EntryOfImage.labelled(image.name(), metadata).filter(made -> isMirrored(image)))
        .map(
            record -> {
              JournalEntry entry =
                  AdoptedEntry.make(
                      session.journal(JournalKind.VOLUME, pool.io()),
                      id.uuid(),
                      record.requestName(),
                      image.name(),
                      image.id(),
                      record.attributes());
              LOG.info("volume {}: its journal entry is made from its image {}", id, image.name());
              return entry;
            });
  }

  private boolean isMirrored(ImageName image) {
    try (RbdImage open =
        new OpenImage(id.toString(), session.lease(), pool, image.name(), Optional.empty())
            .openReadOnly()) {
      return open.mirroring().isPresent();
    }
  }
}
