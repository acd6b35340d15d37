package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.NAME_DAMAGED;
import static io.cephcsi.driver.fsck.FindingKind.NAME_DIFFERS;
import static io.cephcsi.driver.fsck.FindingKind.NAME_WITHOUT_ENTRY;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.journal.StoredName;
import io.cephcsi.driver.volume.PlainText;
import java.util.List;
import java.util.Optional;

/** Checks the names of the journal's directories. Safe for several threads. */
final class NameCheck {
  private final PoolCheckContext context;

  NameCheck(PoolCheckContext context) {
    this.context = context;
  }

  /** Checks all names of the lists; no round trip for those that lead to an entry of the pool. */
  void all() {
    context.lists().otherNames().forEach(this::suspect);
    for (JournalKind kind : JournalKind.values()) {
      context
          .lists()
          .names(kind)
          .forEach(
              (uuid, names) -> {
                if (!context.lists().hasEntry(kind, uuid)) {
                  names.forEach(this::suspect);
                }
              });
    }
  }

  /** Has a name looked at again. */
  void suspect(StoredName name) {
    context.suspicions().add(context.place(), name.requestName(), () -> look(name));
  }

  private List<Finding> look(StoredName before) {
    String object = describe(before);
    if (!before.isPlain()) { // nor can it be asked for again
      return List.of(Finding.of(NAME_DAMAGED, context.place(), object, "the key is no plain text"));
    }
    context.workers().turn();
    Optional<StoredName> now =
        StoredName.find(context.io(), before.kind(), before.instanceId(), before.requestName());
    return now.flatMap(name -> look(object, name)).stream().toList();
  }

  private static String describe(StoredName name) {
    return switch (name.kind()) {
          case VOLUME -> "volume ";
          case SNAPSHOT -> "snapshot ";
          case GROUP -> "group ";
        }
        + PlainText.escape(name.requestName(), 200)
        + (name.instanceId().equals("default") ? "" : " of instance " + name.instanceId());
  }

  private Optional<Finding> look(String object, StoredName name) {
    if (name.target().isEmpty()) {
      return Optional.of(
          Finding.of(NAME_DAMAGED, context.place(), object, "its value is " + name.shownValue()));
    }
    StoredName.Target target = name.target().get();
    if (target.poolId() == context.io().poolId()) {
      return look(object, name, context.io());
    }
    try (IoContext other =
        context.io().cluster().openPool(target.poolId(), context.io().namespace())) {
      return look(object, name, other);
    } catch (CephException.NotFound e) {
      return Optional.of(
          Finding.of(
              NAME_WITHOUT_ENTRY,
              context.place(),
              object,
              "its pool with id " + target.poolId() + " does not exist"));
    } catch (CephException.Denied e) {
      return Optional.empty(); // nobody can say
    }
  }

  private Optional<Finding> look(String object, StoredName name, IoContext images) {
    StoredName.Target target = name.target().orElseThrow();
    context.workers().turn();
    Optional<StoredEntry> stored = StoredEntry.read(images, name.kind(), target.uuid());
    if (stored.isEmpty()) {
      return Optional.of(
          Finding.of(
                  NAME_WITHOUT_ENTRY,
                  context.place(),
                  object,
                  "it leads to " + name.kind().object(target.uuid()))
              .with(context.content().removeName(name)));
    }
    return stored
        .get()
        .entry()
        .map(JournalEntry::requestName)
        .filter(requestName -> !requestName.equals(name.requestName()))
        .map(
            requestName ->
                Finding.of(
                    NAME_DIFFERS,
                    context.place(),
                    object,
                    "it leads to "
                        + name.kind().object(target.uuid())
                        + " of the name "
                        + requestName));
  }
}
