package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rbd.SnapshotNamespace;
import java.time.Instant;
import java.util.Optional;

/**
 * A snapshot as an image's header records it.
 *
 * @param id the id, unique in the pool
 * @param name the name; a made-up one outside of {@link SnapshotNamespace#USER}
 * @param namespace what kind it is
 * @param size the image's size when it was taken, in bytes
 * @param createdAt when it was taken
 * @param part what it is a part of, in {@link SnapshotNamespace#GROUP}
 * @param mirror what mirroring has of it, in {@link SnapshotNamespace#MIRROR}
 */
public record HeaderSnapshot(
    long id,
    String name,
    SnapshotNamespace namespace,
    long size,
    Instant createdAt,
    Optional<GroupPart> part,
    Optional<MirrorPart> mirror) {}
