package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The groups of a pool, read without librbd: many groups in one round trip, and the members of a
 * group by their image ids. {@code rbd_group_image_list} resolves their names, and fails when one
 * of the images does not exist.
 *
 * <pre>
 *   rbd_group_directory   omap  name_NAME → string id · id_ID → string name
 *   rbd_group_header.ID   group_image_list   in   v1,1 (string image · i64 pool) · u64 max
 *                                            out  u32 n · n × v1,1 (v1,1 (string image · i64 pool)
 *                                                 · u8 state)
 *                         omap  snapshot_ID → v1,1 (string id · string name · u8 state · ...)
 *                               image_POOL_IMAGE → v1,1 (...), the pool's id as 16 hex digits
 * </pre>
 */
public final class GroupHeader {
  private static final String DIRECTORY = "rbd_group_directory";
  private static final String BY_NAME = "name_";
  private static final String BY_ID = "id_";
  private static final int PAGE = 1000;
  private static final int MOST_BYTES = 4 << 20; // some 90,000 members
  private static final int ATTACHED = 0;
  private static final int INCOMPLETE = 0;

  private GroupHeader() {}

  /** The id of a group; one round trip, empty if there is none of this name. */
  public static Optional<String> id(IoContext io, String name) {
    return Optional.ofNullable(values(io, List.of(BY_NAME + name)).get(BY_NAME + name));
  }

  /** The name of a group; one round trip, empty if there is none of this id. */
  public static Optional<String> name(IoContext io, String groupId) {
    return Optional.ofNullable(values(io, List.of(BY_ID + groupId)).get(BY_ID + groupId));
  }

  /** Whether a group has snapshots, or part of one; one round trip. */
  public static boolean hasSnapshots(IoContext io, String groupId) {
    try (ReadOperation read = new ReadOperation()) {
      var first = read.omapGetValsBehind("", "snap", 1); // snapshot_ID, snap_order_ID
      io.operate("rbd_group_header." + groupId, read);
      return !first.get().values().isEmpty();
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  /**
   * Whether a group has a snapshot, complete or not; one round trip. librbd records it before any
   * image has a part of it, and forgets it after the last part is gone.
   *
   * @param io the pool of the group
   * @return false too if there is no such group
   */
  public static boolean hasSnapshot(IoContext io, String groupId, String snapshotId) {
    return hasKey(io, groupId, "snapshot_" + snapshotId);
  }

  /**
   * Whether a group has an image as a member, or began to take it in; one round trip. An image says
   * that it is in a group after that, and no more before the group forgets it.
   *
   * @param io the pool of the group
   * @return false too if there is no such group
   */
  public static boolean hasMember(IoContext io, String groupId, long imagePool, String imageId) {
    return hasKey(io, groupId, String.format("image_%016x_%s", imagePool, imageId));
  }

  private static boolean hasKey(IoContext io, String groupId, String key) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetSmallByKeys(List.of(key));
      io.operate("rbd_group_header." + groupId, read);
      return values.get().containsKey(key);
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  /**
   * The names of the snapshots of a group that were begun and not completed; one round trip for
   * every 1,000. What is damaged is left out.
   */
  public static List<String> unfinishedSnapshots(IoContext io, String groupId) {
    List<String> names = new ArrayList<>();
    String header = "rbd_group_header." + groupId;
    OmapWalk.keys(
        io,
        header,
        "snapshot_",
        (key, value) -> {
          try {
            ClassOutput.decode(header, value, in -> in.structure(GroupHeader::unfinished))
                .ifPresent(names::add);
          } catch (CephException e) {
            return; // of damaged bytes nobody can say
          }
        });
    return names;
  }

  private static Optional<String> unfinished(ClassOutput in) {
    in.string(); // its id
    String name = in.string();
    return in.u8() == INCOMPLETE ? Optional.of(name) : Optional.empty();
  }

  /**
   * Removes what is left of a group that has no name: librbd makes the name first and takes it away
   * last, but an image that is put in meanwhile makes the header anew. One round trip.
   *
   * @param io the pool of the group
   */
  public static void removeRemnant(IoContext io, String groupId) {
    try {
      io.remove("rbd_group_header." + groupId);
    } catch (CephException.NotFound e) {
      return; // nothing was left
    }
  }

  /**
   * Has an image forget a group that does not exist any more: who removed that did not see the
   * image, which was put in at the same time. One round trip; nothing happens to an image that is
   * gone, or in another group.
   *
   * @param images the pool of the image
   */
  public static void forget(IoContext images, String imageId, GroupLink link) {
    ClassCall group = ClassCall.content().u64(link.poolId()).string(link.groupId());
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      RbdClass.call("image_group_remove").structure(1, 1, group).addTo(write);
      images.operate(ImageHeader.object(imageId), write);
    } catch (CephException.NotFound e) {
      return; // the image, or what it knew of the group
    } catch (CephException e) {
      if (e.errno() != Errno.EBADF) {
        throw e;
      }
    }
  }

  /** Those of some names that groups have; one round trip for all of them. */
  public static Set<String> existing(IoContext io, Collection<String> names) {
    Set<String> found = new TreeSet<>();
    values(io, names.stream().map(name -> BY_NAME + name).toList())
        .keySet()
        .forEach(key -> found.add(key.substring(BY_NAME.length())));
    return found;
  }

  private static Map<String, String> values(IoContext io, List<String> keys) {
    Map<String, String> texts = new LinkedHashMap<>();
    if (keys.isEmpty()) {
      return texts;
    }
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(keys);
      io.operate(DIRECTORY, read);
      values
          .get()
          .forEach(
              (key, value) ->
                  texts.put(key, ClassOutput.decode(DIRECTORY, value, ClassOutput::string)));
    } catch (CephException.NotFound e) {
      return texts; // no group was ever made in this pool
    }
    return texts;
  }

  /**
   * The images of a group, those that are gone or in the trash too; one round trip for every 1,000.
   *
   * @return empty if there is no group of this id
   * @throws CephException TooLarge if they have more than 4 MiB; EBADMSG if ids are damaged
   */
  public static List<GroupMember> images(IoContext io, String groupId) {
    List<GroupMember> images = new ArrayList<>();
    GroupMember last = new GroupMember(0, "", false);
    long bytes = 0;
    while (true) {
      byte[] encoded = page(io, groupId, last);
      List<GroupMember> page = members(encoded);
      images.addAll(page);
      if (page.size() < PAGE) {
        return images;
      }
      bytes += encoded.length;
      if (bytes > MOST_BYTES) {
        throw damaged(groupId, Errno.EFBIG, "its list has more than " + MOST_BYTES + " bytes");
      }
      GroupMember next = page.get(page.size() - 1);
      if (next.equals(last)) { // an id that is no text is not found again
        throw damaged(groupId, Errno.EBADMSG, "ids of images are damaged");
      }
      last = next;
    }
  }

  private static CephException damaged(String groupId, Errno errno, String detail) {
    return ReturnCode.exception(-errno.number(), "group_image_list", "group " + groupId, detail);
  }

  /** A page as the class encodes it; without members if there is no such group. */
  private static byte[] page(IoContext io, String groupId, GroupMember after) {
    try (ReadOperation read = new ReadOperation()) {
      var result =
          RbdClass.call("group_image_list")
              .structure(1, 1, ClassCall.content().string(after.imageId()).u64(after.poolId()))
              .u64(PAGE)
              .addTo(read);
      io.operate("rbd_group_header." + groupId, read);
      return result.get();
    } catch (CephException.NotFound e) {
      return new byte[Integer.BYTES];
    }
  }

  static List<GroupMember> members(byte[] encoded) {
    return ClassOutput.decode(
        "images of a group", encoded, in -> in.list(one -> one.structure(GroupHeader::member)));
  }

  private static GroupMember member(ClassOutput in) {
    GroupMember attached =
        in.structure(
            specification -> {
              String image = specification.string();
              return new GroupMember(specification.u64(), image, true);
            });
    return new GroupMember(attached.poolId(), attached.imageId(), in.u8() == ATTACHED);
  }
}
