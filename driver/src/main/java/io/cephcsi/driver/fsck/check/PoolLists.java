package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredName;
import io.cephcsi.driver.rbd.image.ImageNames;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/**
 * The names of all that a pool and namespace has, in memory: some hundred bytes for each volume,
 * and none for a data object. Filled by one thread; then safe for several.
 */
final class PoolLists implements Facts {
  private static final long BYTES_OF_A_NAME = 300;

  /** So many names at most are kept: whoever may write to a pool can make any number. */
  static final long MAX = Math.min(5_000_000, Runtime.getRuntime().maxMemory() / BYTES_OF_A_NAME);

  private final IoContext io;
  private final Map<JournalKind, Set<UUID>> entries = new EnumMap<>(JournalKind.class);
  private final Map<JournalKind, Set<String>> instances = new EnumMap<>(JournalKind.class);
  private final Map<JournalKind, Map<UUID, List<StoredName>>> names =
      new EnumMap<>(JournalKind.class);
  private final List<StoredName> suspiciousNames = new ArrayList<>();
  private final Set<String> headers = new HashSet<>();
  private final Set<String> idObjects = new HashSet<>();
  private final Set<String> objectMaps = new HashSet<>();
  private final Set<String> groupHeaders = new HashSet<>();
  private final Map<String, String> groupNames = new HashMap<>();
  private final Map<String, String> directoryByName = new HashMap<>();
  private final Map<String, String> directoryById = new HashMap<>();
  private final Set<String> trash = new HashSet<>();
  private final DataObjectsFound data;
  private final Map<String, Claim> claimedIds = new ConcurrentHashMap<>();
  private final Set<String> claimedNames = ConcurrentHashMap.newKeySet();
  private final Set<String> incomplete = new TreeSet<>();
  private long kept;

  /**
   * An entry that has recorded an image.
   *
   * @param kind of the entry
   * @param uuid of the entry
   */
  record Claim(JournalKind kind, UUID uuid) {}

  private PoolLists(IoContext io, boolean deep) {
    this.io = io;
    this.data = new DataObjectsFound(deep);
    for (JournalKind kind : JournalKind.values()) {
      entries.put(kind, new HashSet<>());
      instances.put(kind, new TreeSet<>());
      names.put(kind, new HashMap<>());
    }
  }

  /** Reads the lists; long: one round trip for some hundred objects or keys. */
  static PoolLists read(IoContext io, boolean deep, CheckProgress progress) {
    PoolLists lists = new PoolLists(io, deep);
    progress.begin("listing the objects of " + place(io), 0);
    io.objects(
        object -> {
          lists.add(object);
          progress.step();
        });
    progress.begin("reading the directories of " + place(io), 0);
    lists.readDirectories(progress);
    return lists;
  }

  /** A pool and namespace, as findings name it. */
  static String place(IoContext io) {
    return io.namespace().isEmpty() ? io.pool() : io.pool() + "/" + io.namespace();
  }

  private void add(String object) {
    if (data.add(object)) {
      return;
    }
    if (!after(object, "rbd_header.", headers)
        && !after(object, "rbd_id.", idObjects)
        && !after(object, "rbd_group_header.", groupHeaders)
        && !after(object, "rbd_object_map.", objectMaps)) {
      for (JournalKind kind : JournalKind.values()) {
        kind.uuidOf(object).ifPresent(uuid -> keep(entries.get(kind), uuid));
        kind.instanceOf(object).ifPresent(instance -> keep(instances.get(kind), instance));
      }
    }
  }

  private boolean after(String object, String prefix, Set<String> set) {
    boolean is = object.startsWith(prefix);
    if (is) {
      keep(set, object.substring(prefix.length()));
    }
    return is;
  }

  private <T> void keep(@org.jspecify.annotations.Nullable Set<T> set, T value) {
    if (set != null && set.add(value)) {
      count();
    }
  }

  private void count() {
    if (++kept > MAX) {
      throw new IllegalStateException(
          "pool "
              + place(io)
              + " has more than "
              + MAX
              + " names of images and volumes: check its namespaces one by one, or give Java more"
              + " memory (-Xmx)");
    }
  }

  private void readDirectories(CheckProgress progress) {
    instances.forEach(
        (kind, all) ->
            all.forEach(
                instance -> {
                  if (!StoredName.walk(
                      io,
                      kind,
                      instance,
                      name -> {
                        add(name);
                        progress.step();
                      })) {
                    incomplete.add("the directory of instance " + instance);
                  }
                }));
    texts("rbd_directory", "name_", directoryByName::put, progress);
    texts("rbd_directory", "id_", directoryById::put, progress);
    texts("rbd_group_directory", "name_", groupNames::put, progress);
    keys("rbd_trash", "id_", trash, progress);
  }

  private void add(StoredName name) {
    count();
    if (name.target().isEmpty() || name.target().get().poolId() != io.poolId()) {
      suspiciousNames.add(name);
    } else {
      Map<UUID, List<StoredName>> ofKind = names.get(name.kind());
      if (ofKind != null) {
        ofKind.computeIfAbsent(name.target().get().uuid(), uuid -> new ArrayList<>(1)).add(name);
      }
    }
  }

  private void texts(
      String object, String prefix, BiConsumer<String, String> to, CheckProgress progress) {
    boolean all =
        OmapWalk.keys(
            io,
            object,
            prefix,
            (key, value) -> {
              count();
              progress.step();
              to.accept(key.substring(prefix.length()), text(object, value));
            });
    if (!all) {
      incomplete.add(object);
    }
  }

  /** Damaged bytes lead to nothing. */
  private static String text(String object, byte[] value) {
    try {
      return ClassOutput.decode(object, value, ClassOutput::string);
    } catch (CephException e) {
      return "";
    }
  }

  private void keys(String object, String prefix, Set<String> to, CheckProgress progress) {
    boolean all =
        OmapWalk.keys(
            io,
            object,
            prefix,
            (key, value) -> {
              keep(to, key.substring(prefix.length()));
              progress.step();
            });
    if (!all) {
      incomplete.add(object);
    }
  }

  /** Notes what an entry has recorded; the other entry of the same image, if there is one. */
  Optional<Claim> claim(JournalKind kind, JournalEntry entry) {
    claimedNames.add(entry.name());
    return entry
        .imageId()
        .map(id -> claimedIds.putIfAbsent(id, new Claim(kind, entry.uuid())))
        .filter(other -> !other.uuid().equals(entry.uuid()));
  }

  /** The entry that has recorded an image. */
  Optional<Claim> claimOf(String imageId) {
    return Optional.ofNullable(claimedIds.get(imageId));
  }

  /** What the names of images begin with that entries have. */
  Set<String> claimedNames() {
    return claimedNames;
  }

  Set<UUID> entries(JournalKind kind) {
    return entries.getOrDefault(kind, Set.of());
  }

  Set<String> instances(JournalKind kind) {
    return instances.getOrDefault(kind, Set.of());
  }

  /** Names that are damaged, or lead to another pool. */
  List<StoredName> otherNames() {
    return suspiciousNames;
  }

  /** Names that lead to an entry of this pool. */
  Map<UUID, List<StoredName>> names(JournalKind kind) {
    return names.getOrDefault(kind, Map.of());
  }

  /** The ids of all images that anything names. */
  Set<String> imageIds() {
    Set<String> ids = new HashSet<>(headers);
    ids.addAll(directoryById.keySet());
    ids.addAll(directoryByName.values());
    ids.removeAll(trash);
    ids.remove("");
    return ids;
  }

  /** Names with an object that leads to an id, but not in the directory. */
  Set<String> namesBesideDirectory() {
    Set<String> beside = new HashSet<>(idObjects);
    beside.removeAll(directoryByName.keySet());
    return beside;
  }

  Set<String> trash() {
    return trash;
  }

  /** Object maps of images without a header, by image id. */
  Set<String> objectMapsWithoutHeader() {
    Set<String> left = new HashSet<>();
    for (String map : objectMaps) {
      int dot = map.indexOf('.');
      String id = dot < 0 ? map : map.substring(0, dot);
      if (!headers.contains(id)) {
        left.add(id);
      }
    }
    return left;
  }

  /** RBD groups by name. */
  Map<String, String> groups() {
    return groupNames;
  }

  /** The ids of groups with a header and without a name. */
  Set<String> groupsWithoutName() {
    Set<String> left = new HashSet<>(groupHeaders);
    left.removeAll(groupNames.values());
    return left;
  }

  DataObjectsFound data() {
    return data;
  }

  /** Which lists others wrote keys into that could not be passed. */
  Set<String> incomplete() {
    return incomplete;
  }

  @Override
  public boolean hasHeader(String imageId) {
    return headers.contains(imageId);
  }

  @Override
  public Optional<String> nameInDirectory(String imageId) {
    return Optional.ofNullable(directoryById.get(imageId));
  }

  @Override
  public Optional<String> idInDirectory(String name) {
    return Optional.ofNullable(directoryByName.get(name));
  }

  @Override
  public boolean isInTrash(String imageId) {
    return trash.contains(imageId);
  }

  @Override
  public boolean hasObjectMap(String imageId) {
    return objectMaps.contains(imageId);
  }

  @Override
  public boolean hasEntry(JournalKind kind, UUID uuid) {
    return entries(kind).contains(uuid);
  }

  @Override
  public List<StoredName> names(JournalKind kind, JournalEntry entry) {
    return names(kind).getOrDefault(entry.uuid(), List.of());
  }

  @Override
  public boolean isClaimed(String imageName) {
    String temporary = ImageNames.temporary("");
    return claimedNames.contains(
        imageName.endsWith(temporary)
            ? imageName.substring(0, imageName.length() - temporary.length())
            : imageName);
  }
}
