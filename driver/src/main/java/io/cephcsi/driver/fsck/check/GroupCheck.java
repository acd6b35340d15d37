package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.GROUP_DIFFERS;
import static io.cephcsi.driver.fsck.FindingKind.GROUP_GONE;
import static io.cephcsi.driver.fsck.FindingKind.GROUP_MEMBER_GONE;
import static io.cephcsi.driver.fsck.FindingKind.GROUP_SNAPSHOT_UNFINISHED;
import static io.cephcsi.driver.fsck.FindingKind.GROUP_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.GROUP_WITHOUT_NAME;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Pattern;

/** Checks volume groups and group snapshots. Safe for several threads. */
final class GroupCheck {
  private static final Pattern OURS =
      Pattern.compile("csi-vol-group-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  private final PoolCheckContext context;
  private final IoContext io;

  GroupCheck(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
  }

  /** Checks the RBD groups of the lists. */
  void all() {
    context
        .lists()
        .groups()
        .forEach(
            (name, id) -> {
              Optional<UUID> uuid =
                  OURS.matcher(name).matches() ? ImageNames.uuidAtEnd(name) : Optional.empty();
              if (uuid.filter(u -> !context.lists().hasEntry(JournalKind.GROUP, u)).isPresent()) {
                context
                    .suspicions()
                    .add(context.place(), "group " + name, () -> unclaimed(name, uuid.get()));
              }
            });
    context
        .lists()
        .groupsWithoutName()
        .forEach(
            id ->
                context.suspicions().add(context.place(), "group id " + id, () -> withoutName(id)));
  }

  /** librbd makes the name before the header, and removes it after. */
  private List<Finding> withoutName(String id) {
    String header = "rbd_group_header." + id;
    if (!context.live().hasObject(header)) {
      return List.of();
    }
    context.workers().turn();
    Optional<String> name = GroupHeader.name(io, id);
    context.workers().turn();
    boolean isNamed = name.flatMap(n -> GroupHeader.id(io, n)).filter(id::equals).isPresent();
    return isNamed
        ? List.of()
        : List.of(
            Finding.of(
                    GROUP_WITHOUT_NAME,
                    context.place(),
                    "group id " + id,
                    name.map(n -> "its name was " + n).orElse(""))
                .with(context.rados("listomapvals", header)));
  }

  private List<Finding> unclaimed(String name, UUID uuid) {
    context.workers().turn();
    return GroupHeader.id(io, name).isPresent() && !context.live().hasEntry(JournalKind.GROUP, uuid)
        ? List.of(
            Finding.of(GROUP_WITHOUT_ENTRY, context.place(), name, "")
                .with("rbd", "group", "rm", context.path(name)))
        : List.of();
  }

  /** Checks an entry: a round trip for each member, and two for the RBD group. */
  void look(StoredEntry stored, JournalEntry journal, List<Finding> findings) {
    GroupEntry entry = new GroupEntry(journal);
    String object = stored.kind().object(stored.uuid());
    boolean ofSnapshots = entry.isOfSnapshots();
    List<VolumeId> members = ofSnapshots ? entry.snapshots() : entry.members();
    JournalKind kind = ofSnapshots ? JournalKind.SNAPSHOT : JournalKind.VOLUME;
    Set<String> images = new TreeSet<>();
    Set<String> gone = new TreeSet<>();
    for (VolumeId member : members) {
      if (member.location() != io.poolId()) {
        continue; // in another pool, whose volumes this one does not know
      }
      context.workers().turn();
      Optional<StoredEntry> found = StoredEntry.read(io, kind, member.uuid());
      if (found.isEmpty()) {
        gone.add(member.toString());
      } else {
        found
            .get()
            .entry()
            .flatMap(JournalEntry::imageId)
            .ifPresent(image -> images.add(io.poolId() + "/" + image));
      }
    }
    boolean isOld = context.settings().isOld(stored.changedAt());
    if (!gone.isEmpty() && isOld) {
      findings.add(
          Finding.of(
              GROUP_MEMBER_GONE,
              context.place(),
              object,
              "name " + journal.requestName() + ", members " + gone));
    }
    if (!ofSnapshots && isOld) {
      addGroup(journal, object, images, gone.isEmpty(), findings);
    }
  }

  /** A snapshot is taken in seconds: of a header that nobody has changed since, it is left. */
  private void addUnfinished(String name, String id, List<Finding> findings) {
    context.workers().turn();
    List<String> unfinished = GroupHeader.unfinishedSnapshots(io, id);
    if (unfinished.isEmpty() || !isOldGroup(id)) {
      return;
    }
    for (String snapshot : unfinished) {
      String path = name + "@" + snapshot;
      findings.add(
          Finding.of(GROUP_SNAPSHOT_UNFINISHED, context.place(), path, "")
              .with("rbd", "group", "snap", "rm", context.path(path)));
    }
  }

  private void addGroup(
      JournalEntry journal,
      String object,
      Set<String> images,
      boolean complete,
      List<Finding> findings) {
    context.workers().turn();
    Optional<String> group = GroupHeader.id(io, journal.name());
    if (group.isEmpty()) {
      findings.add(
          Finding.of(
              GROUP_GONE,
              context.place(),
              object,
              "name " + journal.requestName() + ", RBD group " + journal.name()));
      return;
    }
    addUnfinished(journal.name(), group.get(), findings);
    context.workers().turn();
    Set<String> there = new TreeSet<>();
    boolean isBegun = false; // that an image was put in or taken out, and not ended
    for (GroupMember member : GroupHeader.images(io, group.get())) {
      if (!member.attached()) {
        isBegun = true;
      } else if (isKnownToImage(member, group.get())) {
        there.add(member.poolId() + "/" + member.imageId());
      }
    }
    boolean isDifferent = complete && !there.equals(images);
    if (isDifferent || (isBegun && isOldGroup(group.get()))) {
      findings.add(
          Finding.of(
              GROUP_DIFFERS,
              context.place(),
              object,
              "RBD group "
                  + journal.name()
                  + " has the images "
                  + there
                  + ", the entry "
                  + images
                  + (isBegun ? "; putting in or taking out an image was not completed" : "")));
    }
  }

  /** Whether a member says itself that it is in the group: else librbd knows it only by halves. */
  private boolean isKnownToImage(GroupMember member, String groupId) {
    if (member.poolId() != io.poolId()) {
      return true; // the namespace of an image in another pool is not known
    }
    context.workers().turn();
    return ImageCondition.read(io, member.imageId(), ImageCheck.KEYS)
        .map(image -> image.group().equals(Optional.of(new GroupLink(io.poolId(), groupId))))
        .orElse(true); // a header that is gone is another finding
  }

  private boolean isOldGroup(String groupId) {
    context.workers().turn();
    return context.settings().isOld(io.stat("rbd_group_header." + groupId).modified());
  }
}
