package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Suspicions;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.journal.JournalKind;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Checks what a pool and namespace has of RBD volumes: it lists the objects, reads each entry and
 * each header once, and looks twice more at what looks wrong. It only reads, and opens an image
 * only where a lock is to be understood.
 */
public final class RbdCheck {
  private final CheckSettings settings;
  private final Workers workers;
  private final CheckProgress progress;
  private final Set<String> instances;

  /**
   * @param settings how it is carried out
   * @param workers the threads
   * @param progress tells how far it is
   * @param instances of drivers whose directories may be in another pool; those of the pool itself
   *     are found
   */
  public RbdCheck(
      CheckSettings settings, Workers workers, CheckProgress progress, Set<String> instances) {
    this.settings = settings;
    this.workers = workers;
    this.progress = progress;
    this.instances = Set.copyOf(instances);
  }

  /**
   * What a check found.
   *
   * @param leftOut what could not be judged, and why; empty if all was
   */
  public record Result(
      List<Finding> findings,
      long volumes,
      long images,
      long dataObjects,
      Optional<String> leftOut) {
    /** Copies the list. */
    public Result {
      findings = List.copyOf(findings);
    }
  }

  /**
   * Checks a pool and namespace.
   *
   * @throws CephException if the cluster does not answer, or the user may not read the pool
   */
  public Result check(IoContext io) {
    PoolLists lists = PoolLists.read(io, settings.deep(), progress);
    PoolCheckContext context = context(io, lists, ImageContent::new);
    new NameCheck(context).all();
    new EntryCheck(context).all();
    new ImageCheck(context).all();
    new TrashCheck(context).all();
    new GroupCheck(context).all();
    DataCheck data = new DataCheck(context);
    data.all();
    List<Finding> findings = context.confirm();
    return new Result(
        findings,
        lists.entries(JournalKind.VOLUME).size(),
        lists.imageIds().size(),
        lists.data().byPrefix().values().stream().mapToLong(DataObjectsFound.Found::count).sum(),
        data.leftOut());
  }

  PoolCheckContext context(
      IoContext io, PoolLists lists, Function<PoolCheckContext, EntryContent> content) {
    Map<JournalKind, Set<String>> known = new EnumMap<>(JournalKind.class);
    Map<String, Instant> nodes = new HashMap<>();
    for (JournalKind kind : JournalKind.values()) {
      Set<String> all = new TreeSet<>(instances);
      all.addAll(lists.instances(kind));
      known.put(kind, all);
      for (String instance : all) {
        NodeRegistry.lastSeen(io, instance)
            .forEach((node, seen) -> nodes.merge(node, seen, RbdCheck::later));
      }
    }
    return new PoolCheckContext(
        io,
        settings,
        workers,
        new Suspicions(workers, settings, progress),
        progress,
        lists,
        new LiveFacts(io, workers, known),
        content,
        nodes);
  }

  private static Instant later(Instant one, Instant two) {
    return one.isAfter(two) ? one : two;
  }

  /** The namespaces of a pool for RBD, the default one first; a round trip for every 1,000. */
  public static List<String> namespaces(IoContext pool) {
    List<String> namespaces = new ArrayList<>(List.of(""));
    String prefix = "name_";
    OmapWalk.keys(
        pool,
        "rbd_namespace",
        prefix,
        (key, value) -> namespaces.add(key.substring(prefix.length())));
    return namespaces;
  }
}
