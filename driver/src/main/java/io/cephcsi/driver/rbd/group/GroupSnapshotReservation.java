package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.group.GroupSnapshotCreation.Member;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reserves the snapshots of a group snapshot, and records them in its entry.
 *
 * @param group the entry of the group's snapshot
 * @param requestName its name
 * @param namePrefix begins the names of the snapshots' images
 */
record GroupSnapshotReservation(OpenGroup group, String requestName, String namePrefix) {
  /**
   * Reserves all, or finds them reserved. When that fails at the first attempt, none stays.
   *
   * @return in the order of the volumes; empty if names of what was recorded are free again: a
   *     driver died, or was stopped, while it removed them
   */
  Optional<List<Member>> reserve(List<GroupedVolume> sources) {
    List<Member> all = new ArrayList<>();
    Map<VolumeId, String> values = new HashMap<>();
    try {
      for (GroupedVolume source : sources) {
        JournalEntry entry = reserve(source);
        all.add(new Member(source, entry));
        values.put(group.idOf(entry.uuid()), entry.name());
      }
      Set<VolumeId> recorded = group.entry().values().keySet();
      if (recorded.isEmpty()) {
        group.journal().add(group.id().uuid(), values);
      } else if (!recorded.equals(values.keySet())) {
        all.stream()
            .filter(member -> !recorded.contains(group.idOf(member.entry().uuid())))
            .forEach(member -> journal().undo(member.entry()));
        return Optional.empty();
      }
      return Optional.of(all);
    } catch (CephException.OutcomeUnknown e) {
      throw e; // they may be recorded: the retry finds out
    } catch (CephException | VolumeException e) {
      if (group.entry().values().isEmpty()) {
        all.forEach(member -> journal().undo(member.entry())); // nothing can have been taken yet
      }
      throw e;
    }
  }

  private Journal journal() {
    return group.session().journal(JournalKind.SNAPSHOT, group.pool().io());
  }

  private JournalEntry reserve(GroupedVolume source) {
    Map<String, String> attributes = new LinkedHashMap<>();
    attributes.put(JournalEntry.SOURCE, source.volume().imageName());
    attributes.put(JournalEntry.GROUP_ID, group.id().toString());
    JournalEntry volume = source.volume().entry();
    volume.owner().ifPresent(o -> attributes.put(JournalEntry.OWNER, o));
    attributes.putAll(EncryptionRequest.attributesOf(volume));
    String name = requestName + "-" + source.id().uuid();
    JournalEntry entry =
        journal().reserve(name, new ImageNames(group.pool(), namePrefix), attributes);
    if (!entry.groupId().equals(Optional.of(group.id().toString()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS, "the name " + name + " is used by another snapshot");
    }
    EncryptionRequest.requireOfVolume(entry, volume);
    return entry;
  }
}
