package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.journal.StoredName;
import io.cephcsi.driver.rbd.image.ImageNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Asks the cluster; each answer takes a round trip, or some. Safe for several threads.
 *
 * @param io the pool
 * @param workers whose turn is waited for
 * @param instances the instances of each kind, of all pools that are checked
 */
record LiveFacts(IoContext io, Workers workers, Map<JournalKind, Set<String>> instances)
    implements Facts {
  private static final String TEMPORARY = ImageNames.temporary("");

  @Override
  public boolean hasHeader(String imageId) {
    workers.turn();
    return ImageCondition.exists(io, imageId);
  }

  @Override
  public Optional<String> nameInDirectory(String imageId) {
    workers.turn();
    return damagedIsNone(() -> ImageHeader.name(io, imageId));
  }

  @Override
  public Optional<String> idInDirectory(String name) {
    workers.turn();
    return damagedIsNone(() -> ImageHeader.idInDirectory(io, name));
  }

  /** As the lists have it: damaged bytes lead to nothing. */
  private static Optional<String> damagedIsNone(
      java.util.function.Supplier<Optional<String>> read) {
    try {
      return read.get();
    } catch (CephException e) {
      if (e.isOfDamage()) {
        return Optional.of("");
      }
      throw e;
    }
  }

  @Override
  public boolean isInTrash(String imageId) {
    workers.turn();
    return TrashMark.isInTrash(io, imageId);
  }

  @Override
  public boolean hasObjectMap(String imageId) {
    return hasObject("rbd_object_map." + imageId);
  }

  /** Whether there is an object. */
  boolean hasObject(String object) {
    workers.turn();
    return io.exists(object);
  }

  @Override
  public boolean hasEntry(JournalKind kind, UUID uuid) {
    workers.turn();
    return StoredEntry.exists(io, kind, uuid);
  }

  @Override
  public List<StoredName> names(JournalKind kind, JournalEntry entry) {
    return namesIn(io, kind, entry);
  }

  List<StoredName> namesIn(IoContext directory, JournalKind kind, JournalEntry entry) {
    List<StoredName> names = new ArrayList<>();
    for (String instance : instances.getOrDefault(kind, Set.of())) {
      workers.turn();
      StoredName.find(directory, kind, instance, entry.requestName())
          .filter(name -> name.leadsTo(entry.uuid(), io.poolId()))
          .ifPresent(names::add);
    }
    return names;
  }

  @Override
  public boolean isClaimed(String imageName) {
    return !claims(imageName).isEmpty();
  }

  /** The entries that give an image or snapshot its name, also those that cannot be read. */
  List<StoredEntry> claims(String imageName) {
    String base =
        imageName.endsWith(TEMPORARY)
            ? imageName.substring(0, imageName.length() - TEMPORARY.length())
            : imageName;
    Optional<UUID> uuid = ImageNames.uuidAtEnd(base);
    List<StoredEntry> claims = new ArrayList<>();
    if (uuid.isPresent()) {
      for (JournalKind kind : List.of(JournalKind.VOLUME, JournalKind.SNAPSHOT)) {
        workers.turn();
        StoredEntry.read(io, kind, uuid.get())
            .filter(stored -> stored.entry().map(entry -> entry.name().equals(base)).orElse(true))
            .ifPresent(claims::add);
      }
    }
    return claims;
  }

  /** Whether a group has an image of this pool as a member. */
  boolean isMember(GroupLink group, String imageId) {
    workers.turn();
    if (group.poolId() == io.poolId()) {
      return GroupHeader.hasMember(io, group.groupId(), io.poolId(), imageId);
    }
    try (IoContext other = io.cluster().openPool(group.poolId(), io.namespace())) {
      return GroupHeader.hasMember(other, group.groupId(), io.poolId(), imageId);
    } catch (CephException.NotFound e) {
      return false;
    } catch (CephException.Denied e) {
      return true; // nobody can say
    }
  }
}
