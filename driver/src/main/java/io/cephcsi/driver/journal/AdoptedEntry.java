package io.cephcsi.driver.journal;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * Makes the journal entry of a volume whose image is there, and which this cluster's journal does
 * not know, as another site made it and only images are mirrored. The name is taken first, then the
 * entry is made with all of its keys at once: what dies in between is ended by the next call, and
 * of two that make it at once, both get the same.
 */
public final class AdoptedEntry {
  private AdoptedEntry() {}

  /**
   * Makes the entry, or finds the one that another driver has just made; two round trips, or four.
   *
   * @param journal of the volumes in the pool of the image
   * @param uuid of the volume
   * @param requestName the name that it was made by
   * @param image the name of its image, which ends in the uuid
   * @param imageId the id of its image
   * @param attributes further keys
   * @throws VolumeException FAILED_PRECONDITION if the name is another volume's here, or the
   *     journal cannot record what is given
   */
  public static JournalEntry make(
      Journal journal,
      UUID uuid,
      String requestName,
      String image,
      String imageId,
      Map<String, String> attributes) {
    Map<String, String> all = new LinkedHashMap<>(attributes);
    all.put(JournalEntry.IMAGE_ID, imageId);
    Optional<String> damage = Damage.of(journal.kind(), journal.complete(requestName, image, all));
    if (damage.isPresent()) {
      throw refuse(uuid, image, damage.get());
    }
    DirectoryValue mine = new DirectoryValue(uuid, journal.imagePoolId());
    if (!journal.takeName(requestName, mine)
        && !journal.directoryValue(requestName).equals(Optional.of(mine))) {
      throw refuse(uuid, image, "the name " + PlainText.show(requestName) + " is another volume's");
    }
    return journal.createObject(uuid, requestName, image, all);
  }

  private static VolumeException refuse(UUID uuid, String image, String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume "
            + uuid
            + " has the image "
            + image
            + " here, but no journal entry, and none can be made: "
            + why);
  }
}
