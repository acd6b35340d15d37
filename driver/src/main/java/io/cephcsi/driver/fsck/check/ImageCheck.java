package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.DIRECTORY_DIFFERS;
import static io.cephcsi.driver.fsck.FindingKind.HEADER_WITHOUT_NAME;
import static io.cephcsi.driver.fsck.FindingKind.IMAGE_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.INTERMEDIATE_IMAGE_LEFT;
import static io.cephcsi.driver.fsck.FindingKind.IN_GONE_GROUP;
import static io.cephcsi.driver.fsck.FindingKind.LOCK_WITHOUT_CLIENT;
import static io.cephcsi.driver.fsck.FindingKind.MIRRORED_UNKNOWN;
import static io.cephcsi.driver.fsck.FindingKind.MIRRORED_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.MOVE_TO_TRASH_UNFINISHED;
import static io.cephcsi.driver.fsck.FindingKind.NAME_OBJECT_WRONG;
import static io.cephcsi.driver.fsck.FindingKind.NAME_WITHOUT_HEADER;
import static io.cephcsi.driver.fsck.FindingKind.RECLAIM_MARK_LEFT;
import static io.cephcsi.driver.fsck.FindingKind.UNREADABLE;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClientAddress;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.Watcher;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.session.EntryOfImage;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks the images of a pool that are not in the trash. Safe for several threads. */
final class ImageCheck {
  /** In the metadata of an image while it is reclaimed. */
  static final String RECLAIMER = "csi.java.reclaimer";

  /** What is asked of the metadata of an image. */
  static final List<String> KEYS =
      Stream.concat(Stream.of(RECLAIMER), EntryOfImage.KEYS.stream()).toList();

  private static final Pattern OURS =
      Pattern.compile("csi-(vol|snap)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-temp)?");
  private static final String LOCK = "lock.rbd_lock";

  private final PoolCheckContext context;
  private final IoContext io;
  private final RbdPool pool;
  private final ImageRepairs repairs;
  private final CloneCheck clones;

  ImageCheck(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
    this.pool = new RbdPool(io);
    this.repairs = new ImageRepairs(context);
    this.clones = new CloneCheck(context);
  }

  /** Checks all images of the lists; two round trips for each, and some for its snapshots. */
  void all() {
    List<String> ids = new ArrayList<>(context.lists().imageIds());
    context.progress().begin("checking images of " + context.place(), ids.size());
    context
        .workers()
        .each(
            ids.iterator(),
            id -> {
              context
                  .suspicions()
                  .suspect(
                      context.place(),
                      "image id " + id,
                      () -> look(context.lists(), id),
                      () -> look(context.live(), id));
              context.progress().step();
            });
    context
        .lists()
        .namesBesideDirectory()
        .forEach(
            name ->
                context
                    .suspicions()
                    .add(context.place(), "image " + name, () -> besideDirectory(name)));
  }

  /** Whether drivers give such names: the form of the default, or that of an entry. */
  static boolean isOurs(String name) {
    return OURS.matcher(name).matches();
  }

  private Finding finding(FindingKind kind, String object, String detail) {
    return Finding.of(kind, context.place(), object, detail);
  }

  private List<Finding> look(Facts facts, String id) {
    context.workers().turn();
    Optional<ImageCondition> image = ImageCondition.read(io, id, KEYS);
    Optional<String> name = facts.nameInDirectory(id);
    if (facts.isInTrash(id)) {
      return List.of();
    }
    if (image.isEmpty() && facts.hasHeader(id)) {
      return List.of(
          finding(UNREADABLE, "image id " + id, "its header lacks what every header has")
              .with(context.rados("listomapvals", "rbd_header." + id)));
    }
    if (image.isEmpty()) {
      return name
          .filter(n -> claimed(facts, id).isEmpty())
          .map(
              n ->
                  finding(NAME_WITHOUT_HEADER, n, "its id is " + id)
                      .with("rbd", "rm", context.path(n)))
          .stream()
          .toList();
    }
    List<Finding> findings = new ArrayList<>();
    try {
      image.get().data().requireOf(pool, id);
    } catch (CephException e) {
      findings.add(finding(UNREADABLE, "image id " + id, String.valueOf(e.getMessage())));
    }
    Optional<String> known = addNames(facts, id, name, findings);
    if (known.isPresent()) {
      addUnclaimed(facts, id, known.get(), image.get(), findings);
      addUse(id, known.get(), image.get(), findings);
      clones.ofClone(facts, id, known.get(), image.get(), findings);
      new SnapshotCheck(context, clones)
          .look(id, known.get(), image.get(), claimed(facts, id), findings);
      new ObjectMapCheck(context).look(facts, id, known.get(), image.get(), findings);
    }
    return findings;
  }

  /** The entry that has recorded an image. */
  private Optional<StoredEntry> claimed(Facts facts, String id) {
    Optional<PoolLists.Claim> claim = context.lists().claimOf(id);
    if (claim.isEmpty()) {
      return Optional.empty();
    }
    if (facts == context.lists()) { // noted a moment ago
      return Optional.of(SnapshotCheck.noted(claim.get(), id));
    }
    context.workers().turn();
    return StoredEntry.read(io, claim.get().kind(), claim.get().uuid())
        .filter(stored -> stored.entry().flatMap(JournalEntry::imageId).equals(Optional.of(id)));
  }

  /** Checks the three places that have the name of an image; the name, if it has one. */
  private Optional<String> addNames(
      Facts facts, String id, Optional<String> inDirectory, List<Finding> findings) {
    Optional<String> name = inDirectory.filter(n -> !n.isEmpty()).or(() -> nameOfEntry(facts, id));
    if (name.isEmpty()) {
      findings.add(
          finding(HEADER_WITHOUT_NAME, "image id " + id, "")
              .with(context.bytes(id))
              .with(context.rados("listomapvals", "rbd_header." + id)));
      return name;
    }
    Optional<String> back = facts.idInDirectory(name.get());
    if (inDirectory.isEmpty() || !back.equals(Optional.of(id))) {
      findings.add(
          finding(
                  DIRECTORY_DIFFERS,
                  name.get(),
                  "image id "
                      + id
                      + inDirectory.map(n -> " has the name").orElse(" has no name")
                      + back.map(other -> ", the name leads to " + other)
                          .orElse(", the name leads to nothing"))
              .with(repairs.restoreName(name.get(), id)));
    }
    context.workers().turn();
    Optional<String> object = ImageId.find(pool, name.get());
    if (!object.equals(Optional.of(id))) {
      findings.add(
          finding(
                  NAME_OBJECT_WRONG,
                  name.get(),
                  "rbd_id."
                      + name.get()
                      + object.map(other -> " leads to " + other).orElse(" is missing or empty")
                      + ", the image id is "
                      + id)
              .with(repairs.restoreName(name.get(), id)));
    }
    return name;
  }

  private Optional<String> nameOfEntry(Facts facts, String id) {
    return claimed(facts, id)
        .flatMap(
            stored -> {
              context.workers().turn();
              return StoredEntry.read(io, stored.kind(), stored.uuid());
            })
        .flatMap(StoredEntry::entry)
        .map(JournalEntry::name);
  }

  private void addUnclaimed(
      Facts facts, String id, String name, ImageCondition image, List<Finding> findings) {
    if (!isOurs(name) || facts.isClaimed(name) || claimed(facts, id).isPresent()) {
      return;
    }
    boolean between = name.endsWith(ImageNames.temporary(""));
    boolean volume = name.startsWith(RbdParameters.DEFAULT_PREFIX) && !between;
    context.workers().turn();
    boolean mirrored = MirrorCheck.isMirrored(io, id, image);
    if (mirrored && MirrorCheck.waits(io, id, name, volume, image)) {
      return;
    }
    if (facts == context.lists()) {
      findings.add(finding(IMAGE_WITHOUT_ENTRY, name, "")); // looked at again
    } else if (mirrored) {
      findings.add(finding(MIRRORED_UNKNOWN, name, "image id " + id).with(context.bytes(id)));
    } else if (between) {
      findings.add(
          finding(INTERMEDIATE_IMAGE_LEFT, name, "image id " + id)
              .with(context.bytes(id))
              .with("rbd", "trash", "mv", context.path(name))
              .with(repairs.discardIntermediate(name, id)));
    } else if (EntryOfImage.recorded(name, image.metadata()).isPresent()) {
      findings.add(finding(MIRRORED_WITHOUT_ENTRY, name, "image id " + id).with(context.bytes(id)));
    } else {
      findings.add(
          finding(IMAGE_WITHOUT_ENTRY, name, "image id " + id)
              .with(context.bytes(id))
              .with("rbd", "trash", "mv", context.path(name)));
    }
  }

  private void addUse(String id, String name, ImageCondition image, List<Finding> findings) {
    image
        .group()
        .filter(group -> !context.live().isMember(group, id))
        .ifPresent(
            group ->
                findings.add(
                    finding(
                            IN_GONE_GROUP,
                            name,
                            "group id " + group.groupId() + " in pool id " + group.poolId())
                        .with(repairs.forgetGroup(id, group))));
    Optional<String> owner =
        image.attributes().contains(LOCK) ? lockWithoutClient(id) : Optional.empty();
    owner.ifPresent(
        address ->
            findings.add(
                finding(LOCK_WITHOUT_CLIENT, name, "the owner was " + address)
                    .with("rbd", "lock", "ls", context.path(name))));
    if (image.metadata().containsKey(RECLAIMER) && (owner.isPresent() || !isLocked(id))) {
      findings.add(
          finding(RECLAIM_MARK_LEFT, name, "image id " + id).with(repairs.removeReclaimMark(id)));
    }
  }

  private boolean isLocked(String id) {
    context.workers().turn();
    return !HeaderLock.holders(pool, id).isEmpty();
  }

  /** The owner of a lock that does not watch the image. */
  private Optional<String> lockWithoutClient(String id) {
    context.workers().turn();
    List<String> owners = HeaderLock.holders(pool, id);
    if (owners.isEmpty()) {
      return Optional.empty();
    }
    AncestryCheck.requireOpenable(io, id);
    context.workers().turn();
    try (RbdImage image = pool.openByIdReadOnly(id)) {
      List<String> watchers =
          image.watchers().stream().map(Watcher::address).map(ClientAddress::bare).toList();
      return owners.stream()
          .filter(owner -> !watchers.contains(ClientAddress.bare(owner)))
          .findFirst();
    } catch (CephException.NotFound e) {
      return Optional.empty(); // it cannot be opened: another finding says why
    }
  }

  /** A name with an object that leads to an id, which the directory does not know. */
  private List<Finding> besideDirectory(String name) {
    if (context.live().idInDirectory(name).isPresent()) {
      return List.of();
    }
    context.workers().turn();
    Optional<String> id = ImageId.find(pool, name);
    if (id.isEmpty()) {
      return context.live().hasObject("rbd_id." + name)
          ? List.of(finding(NAME_WITHOUT_HEADER, name, "rbd_id." + name + " has no id"))
          : List.of();
    }
    if (context.live().isInTrash(id.get())) { // a move to the trash ends with this object
      context.workers().turn();
      boolean isYoung =
          TrashMark.entry(io, id.get())
              .filter(entry -> !context.settings().isOld(entry.deletedAt()))
              .isPresent();
      return isYoung
          ? List.of()
          : List.of(
              finding(MOVE_TO_TRASH_UNFINISHED, name, "image id " + id.get())
                  .with(context.rados("rm", "rbd_id." + name))
                  .with(repairs.completeMove(name, id.get())));
    }
    if (context.live().hasHeader(id.get())) {
      return context.live().nameInDirectory(id.get()).isEmpty()
              || context.live().nameInDirectory(id.get()).equals(Optional.of(name))
          ? List.of(
              finding(
                      DIRECTORY_DIFFERS,
                      name,
                      "image id " + id.get() + ", the directory does not know the name")
                  .with(repairs.restoreName(name, id.get())))
          : List.of(
              finding(NAME_WITHOUT_HEADER, name, "image id " + id.get() + " has another name")
                  .with(context.rados("rm", "rbd_id." + name)));
    }
    return claimed(context.live(), id.get()).isPresent()
        ? List.of()
        : List.of(
            finding(NAME_WITHOUT_HEADER, name, "image id " + id.get())
                .with(context.rados("rm", "rbd_id." + name)));
  }
}
