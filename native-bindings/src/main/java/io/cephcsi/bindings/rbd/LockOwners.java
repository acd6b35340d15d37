package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClientAddress;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Which other clients have exclusive locks of images. Safe for several threads. */
interface LockOwners {
  /**
   * The address of another client that has a lock; blocks.
   *
   * @param wanted which clients count, by their addresses
   * @return empty if there is none, or it cannot be told
   */
  Optional<String> other(Predicate<String> wanted);

  /** Those of an image; a round trip. */
  static LockOwners ofImage(RbdPool pool, String imageId) {
    return wanted -> Holders.other(pool, wanted, () -> Holders.of(pool.io(), imageId).stream());
  }

  /** Those of the images in a group: a round trip, and two for each image until one is found. */
  static LockOwners ofGroup(RbdPool pool, String name) {
    return wanted ->
        Holders.other(
            pool,
            wanted,
            () ->
                pool.group(name).images().stream()
                    .flatMap(member -> Holders.ofMember(pool.io(), member).stream()));
  }

  /** Reads who has locks. */
  final class Holders {
    private static final Logger LOG = LoggerFactory.getLogger(LockOwners.class);
    private static final String LOCK = "rbd_lock";
    private static final int MOST_BYTES = 4096;

    private Holders() {}

    private static Optional<String> other(
        RbdPool pool, Predicate<String> wanted, Source addresses) {
      try {
        String own = ClientAddress.bare(pool.io().cluster().addresses());
        return addresses
            .get()
            .filter(holder -> !ClientAddress.bare(holder).equals(own) && wanted.test(holder))
            .findFirst();
      } catch (CephException e) {
        LOG.debug("nobody knows who has locks in pool {}: {}", pool.io().pool(), e.getMessage());
        return Optional.empty();
      }
    }

    private static List<String> of(IoContext io, String imageId) {
      return ObjectLock.holders(io, "rbd_header." + imageId, LOCK);
    }

    /** One that is gone meanwhile has none. */
    private static List<String> ofMember(IoContext io, GroupImage member) {
      try {
        if (member.poolId() == io.poolId()) {
          return ofName(io, member.name());
        }
        try (IoContext other = io.cluster().openPool(member.poolId(), io.namespace())) {
          return ofName(other, member.name());
        }
      } catch (CephException.NotFound e) {
        return List.of();
      }
    }

    /** The object has the id behind its length. */
    private static List<String> ofName(IoContext io, String name) {
      byte[] stored = io.read("rbd_id." + name, 0, MOST_BYTES);
      int length =
          stored.length < Integer.BYTES
              ? 0
              : ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN).getInt();
      return length <= 0 || length > stored.length - Integer.BYTES
          ? List.of()
          : of(io, new String(stored, Integer.BYTES, length, StandardCharsets.UTF_8));
    }

    /** Reads addresses, as far as they are asked for. */
    private interface Source {
      Stream<String> get();
    }
  }
}
