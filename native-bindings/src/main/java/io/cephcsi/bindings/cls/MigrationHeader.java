package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rados.ClassOutput;

/**
 * What the header of an image says that is being migrated.
 *
 * <pre>
 *   v3,1 (u8 side: 1 source, 2 destination · i64 pool · string namespace · string name · string
 *        image (empty: of format 1) · u32 n · n × (u64 · u64) · u64 overlap · u8 flatten ·
 *        u8 mirroring · u8 state · string description · u8 mirror mode · string source)
 * </pre>
 *
 * @param isDestination whether the image is read from the other one
 * @param other the other image; of a source that is no image of this cluster, any
 * @param source what else a destination is read from, as JSON: an image of another cluster, a file
 *     of whatever machine opens it, a web server; empty if {@code other} tells
 */
record MigrationHeader(boolean isDestination, ImageLink other, String source) {
  private static final int DESTINATION = 2;

  /** Whether a destination is read from an image of this cluster that has an id. */
  boolean isOfThisCluster() {
    return source.isEmpty() && other.poolId() >= 0 && !other.imageId().isEmpty();
  }

  boolean isSourceOf(ImageLink destination) {
    return !isDestination && other.equals(destination);
  }

  static MigrationHeader decode(byte[] encoded) {
    return ClassOutput.decode("migration", encoded, in -> in.structure(MigrationHeader::content));
  }

  private static MigrationHeader content(ClassOutput in) {
    boolean destination = in.u8() == DESTINATION;
    long pool = in.u64();
    String namespace = in.string();
    in.string(); // the name
    String image = in.string();
    in.list(snapshots -> snapshots.u64() + snapshots.u64());
    in.u64(); // the overlap
    in.u8(); // flatten
    in.u8(); // mirroring
    in.u8(); // the state
    in.string(); // which is described
    in.u8(); // the mirror's mode
    return new MigrationHeader(destination, new ImageLink(pool, namespace, image), in.string());
  }
}
