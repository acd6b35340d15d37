package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.RecordedMount;
import io.cephcsi.driver.journal.JournalEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Function;

/**
 * All groups of subvolumes of a file system. One journal may be of several groups: clusterIDs that
 * differ in the group alone share it. So nothing is gone because one group lacks it. A group that
 * the user may not read may have anything. Safe for several threads; methods block until the MDS
 * answers.
 */
final class SubvolumeGroups implements AutoCloseable {
  private static final String VOLUMES = "/volumes";

  private final List<RecordedMount> mounts = new ArrayList<>();
  private final List<Subvolumes> checked = new ArrayList<>();
  private final Map<String, String> unreadable = new ConcurrentSkipListMap<>();
  private final Map<String, String> otherJournals = new ConcurrentSkipListMap<>();
  private final Set<String> notJudged = ConcurrentHashMap.newKeySet();

  private SubvolumeGroups() {}

  /**
   * Mounts the directory of all groups, or where the user may not, those of some.
   *
   * @param checked the groups whose subvolumes are to be checked
   * @throws CephException.Denied if the user may read none of them
   */
  static SubvolumeGroups mount(RadosCluster cluster, String fileSystem, Set<String> checked) {
    SubvolumeGroups groups = new SubvolumeGroups();
    try {
      groups.mountAll(cluster, fileSystem, new TreeSet<>(checked));
      return groups;
    } catch (RuntimeException e) {
      groups.close();
      throw e;
    }
  }

  private void mountAll(RadosCluster cluster, String fileSystem, Set<String> names) {
    try {
      CephFsMount all = mount(cluster, fileSystem, VOLUMES);
      all.names("/"); // the user may be allowed to mount it, and not to read it
      names.forEach(name -> checked.add(new Subvolumes(all, "/" + name, name)));
    } catch (CephException.NotFound e) {
      return; // there are no groups yet
    } catch (CephException.Denied e) {
      unreadable.put(VOLUMES, String.valueOf(e.getMessage()));
      mountEach(cluster, fileSystem, names);
    }
  }

  private void mountEach(RadosCluster cluster, String fileSystem, Set<String> names) {
    Optional<CephException.Denied> denied = Optional.empty();
    for (String name : names) {
      try {
        checked.add(new Subvolumes(mount(cluster, fileSystem, VOLUMES + "/" + name), "", name));
      } catch (CephException.NotFound e) {
        // it has no subvolumes yet
      } catch (CephException.Denied e) {
        leaveOut(name, e);
        denied = Optional.of(e);
      }
    }
    if (checked.isEmpty() && denied.isPresent()) {
      throw denied.get();
    }
  }

  private CephFsMount mount(RadosCluster cluster, String fileSystem, String root) {
    RecordedMount mount = RecordedMount.ofCommand(cluster, fileSystem, root);
    mounts.add(mount);
    return mount.mount();
  }

  private void leaveOut(String group, CephException.Denied e) {
    unreadable.put(VOLUMES + "/" + group, String.valueOf(e.getMessage()));
    notJudged.add("group " + group);
  }

  /** The groups that are checked, as far as they are there and can be read; sorted by name. */
  List<Subvolumes> checked() {
    return checked;
  }

  /** The names in a group that is checked; none where the user may not read them. */
  List<String> names(Subvolumes group) {
    try {
      return group.names();
    } catch (CephException.Denied e) {
      leaveOut(group.group(), e);
      return List.of();
    }
  }

  /**
   * Looks for something in each group, those that are checked first.
   *
   * @return what the first group has that has it; empty if none has it, or only one that cannot be
   *     read: {@link #canTell} tells which
   */
  <T> Optional<T> find(Function<Subvolumes, Optional<T>> look) {
    return first(checked, look).or(() -> first(others(), look));
  }

  private <T> Optional<T> first(List<Subvolumes> groups, Function<Subvolumes, Optional<T>> look) {
    for (Subvolumes group : groups) {
      try {
        Optional<T> found = look.apply(group);
        if (found.isPresent()) {
          return found;
        }
      } catch (CephException.Denied e) {
        unreadable.put(VOLUMES + "/" + group.group(), String.valueOf(e.getMessage()));
      } catch (CephException e) {
        if (e.errno() != Errno.ENOTDIR) { // else a file beside the groups
          throw e;
        }
      }
    }
    return Optional.empty();
  }

  /** The groups that are not checked; read each time, as drivers make some meanwhile. */
  private List<Subvolumes> others() {
    if (mounts.isEmpty() || unreadable.containsKey(VOLUMES)) {
      return List.of();
    }
    Set<String> known = new TreeSet<>();
    checked.forEach(group -> known.add(group.group()));
    CephFsMount all = mounts.get(0).mount();
    return all.names("/").stream()
        .filter(name -> !name.startsWith("_") && !known.contains(name)) // the manager's own
        .map(name -> new Subvolumes(all, "/" + name, name))
        .toList();
  }

  /** Whether a group has a snapshot; false also where {@link #canTell} says that nobody knows. */
  boolean has(JournalEntry snapshot) {
    return find(group -> group.exists(snapshot) ? Optional.of(group) : Optional.empty())
        .isPresent();
  }

  /**
   * Whether all groups can be read, so that what {@link #find} does not find is gone.
   *
   * @param what was not found, such as an entry: if it is not known, it counts as left out
   */
  boolean canTell(String what) {
    if (unreadable.isEmpty()) {
      return true;
    }
    notJudged.add(what);
    return false;
  }

  /** Notes that the user may not read the journal of another clusterID. */
  void unreadable(String namespace, CephException.Denied e) {
    otherJournals.put(namespace, String.valueOf(e.getMessage()));
  }

  /** Whether nobody noted of the journal of another clusterID that it cannot be read. */
  boolean isReadable(String namespace) {
    return !otherJournals.containsKey(namespace);
  }

  /**
   * Whether all journals of other clusterIDs can be read, so that what none of them has is
   * nobody's.
   *
   * @param what none has, such as a subvolume: if it is not known, it counts as left out
   */
  boolean knowsOthers(String what) {
    if (otherJournals.isEmpty()) {
      return true;
    }
    notJudged.add(what);
    return false;
  }

  /**
   * How much was not judged, and why; empty if all was. To be asked after the check. What cannot be
   * read and had to be read for nothing does not count.
   */
  Optional<String> leftOut() {
    if (notJudged.isEmpty()) {
      return Optional.empty();
    }
    List<String> reasons = new ArrayList<>();
    unreadable.forEach((directory, why) -> reasons.add(directory + " cannot be read: " + why));
    otherJournals.forEach(
        (namespace, why) ->
            reasons.add("the journal in namespace \"" + namespace + "\" cannot be read: " + why));
    return Optional.of(
        notJudged.size()
            + " things were not judged, such as "
            + new TreeSet<>(notJudged).first()
            + ": "
            + String.join("; ", reasons));
  }

  @Override
  public void close() {
    mounts.forEach(RecordedMount::close);
  }
}
