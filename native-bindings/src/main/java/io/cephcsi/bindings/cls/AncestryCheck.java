package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ParentImage;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.Consumer;

/**
 * Refuses images whose data belong to others. A client that may write to one pool can write a
 * header there that names the data objects, the parent or the source of a migration of another
 * pool. A client that may use both pools would then show these data, or overwrite them. So:
 *
 * <ul>
 *   <li>The ids and layouts of an image and of all its ancestors must be such as librbd gives: it
 *       believes them, and those of others end the process.
 *   <li>The data of an image and of all its ancestors must be their own.
 *   <li>A parent in another pool or namespace must list its clone: only who may write there writes
 *       that list. Clones of format 1 stand in none.
 *   <li>The source of a migration in another pool or namespace must name the destination. It must
 *       be an image of the cluster: librbd also reads files of the machine that it runs on.
 * </ul>
 *
 * <p>A header that is changed after the check is not noticed. Safe for several threads; each method
 * blocks, for one round trip for each ancestor at least.
 */
public final class AncestryCheck {
  private static final int MAX_ANCESTORS = 64;

  private final boolean acknowledged;
  private int ancestors;

  private AncestryCheck(boolean acknowledged) {
    this.acknowledged = acknowledged;
  }

  /**
   * Requires that an image shows nothing of others; a round trip for each ancestor, and another for
   * one that is elsewhere.
   *
   * @param header of the image
   * @return how many ancestors it has
   * @throws CephException EBADMSG if it may show what belongs to others, or has more than 64
   *     ancestors
   */
  public static int require(IoContext io, String imageId, ImageHeader header) {
    AncestryCheck ancestry = new AncestryCheck(true);
    ancestry.walk(io, imageId, header);
    return ancestry.ancestors;
  }

  /** As {@link #require(IoContext, String, ImageHeader)}, with a round trip for the header. */
  public static void require(IoContext io, String imageId) {
    ImageId.require(io, imageId);
    ImageHeader.read(io, imageId).ifPresent(header -> require(io, imageId, header));
  }

  /**
   * As {@link #require(IoContext, String)}, of an image that is open: what it reads must come from
   * the parent that its header names at the check. A header can lead to another parent while the
   * image is opened, and back. A few round trips more.
   *
   * @param io of the image's pool, over any connection
   * @throws CephException EBADMSG also if it was opened with another parent; NotFound if it is gone
   */
  public static void requireOpened(IoContext io, RbdImage opened) {
    String imageId = opened.id();
    ImageId.require(io, imageId);
    ImageHeader header =
        ImageHeader.read(io, imageId)
            .orElseThrow(
                () ->
                    ReturnCode.exception(
                        -Errno.ENOENT.number(), "open", describe(io, imageId), "it is gone"));
    require(io, imageId, header);
    Optional<ParentImage> parent = opened.parent();
    if (parent.isEmpty()) {
      return; // the header may still name one that its snapshots need, after a flattening
    }
    boolean same =
        parent
            .map(of -> new ImageLink(of.poolId(), of.namespace(), of.imageId()))
            .equals(header.parent());
    if (!same || parent.get().snapshotId() != header.parentSnapshot()) {
      throw refused(io, imageId, "its parent was changed while it was opened");
    }
  }

  /**
   * Requires that an image can be opened, to look at it or to remove it: librbd opens all ancestors
   * with it, those of a loop until the memory is used up. A round trip for each ancestor.
   *
   * @param header of the image
   * @throws CephException EBADMSG as of {@link #require(IoContext, String, ImageHeader)}, but that
   *     an ancestor need not know of it
   */
  public static void requireOpenable(IoContext io, String imageId, ImageHeader header) {
    new AncestryCheck(false).walk(io, imageId, header);
  }

  /** As {@link #requireOpenable(IoContext, String, ImageHeader)}, and a round trip. */
  public static void requireOpenable(IoContext io, String imageId) {
    ImageId.require(io, imageId);
    ImageHeader.read(io, imageId).ifPresent(header -> requireOpenable(io, imageId, header));
  }

  private void walk(IoContext io, String imageId, ImageHeader header) {
    ImageId.require(io, imageId);
    if (header.layout().isEmpty()) {
      throw refused(io, imageId, "its header names a size of objects or stripes that no image has");
    }
    header.data().requireOf(new RbdPool(io), imageId);
    ImageLink here = new ImageLink(io.poolId(), io.namespace(), imageId);
    Optional<MigrationHeader> from = header.migration().filter(MigrationHeader::isDestination);
    if (from.isPresent()) {
      if (!from.get().isOfThisCluster()) {
        throw refused(
            io,
            imageId,
            "it is being migrated from a source that is not an image of format 2 in"
                + " this cluster; end the migration first with \"rbd migration execute\" and"
                + " \"rbd migration commit\"");
      }
      visit(
          io,
          imageId,
          header,
          from.get().other(),
          (pool, source) -> source.migration().filter(m -> m.isSourceOf(here)).isPresent());
    }
    if (header.parent().isPresent()) {
      ImageLink parent = header.parent().get();
      long snapshot = header.parentSnapshot();
      visit(
          io,
          imageId,
          header,
          parent,
          (pool, found) -> ImageHeader.children(pool, parent.imageId(), snapshot).contains(here));
    }
  }

  /**
   * @param knows whether an ancestor that is elsewhere knows of the image
   */
  private void visit(
      IoContext io,
      String imageId,
      ImageHeader header,
      ImageLink ancestor,
      BiPredicate<IoContext, ImageHeader> knows) {
    if (++ancestors > MAX_ANCESTORS) {
      throw refused(
          io, imageId, "it has more than " + MAX_ANCESTORS + " ancestors, or they form a loop");
    }
    if (ancestor.namespace().indexOf('\0') >= 0) {
      throw refused(io, imageId, "the namespace of its ancestor has a zero byte");
    }
    at(
        io,
        ancestor,
        pool -> {
          ImageId.require(pool, ancestor.imageId());
          Optional<ImageHeader> found = ImageHeader.read(pool, ancestor.imageId());
          if (found.isEmpty()) {
            return; // nothing can be read from it
          }
          if (acknowledged
              && pool != io
              && !knows.test(pool, found.get())
              && isStill(io, imageId, header)) {
            throw refused(
                io,
                imageId,
                "its ancestor "
                    + describe(pool, ancestor.imageId())
                    + " does not list it as a clone; if it is one, such as a clone of format 1,"
                    + " flatten it with \"rbd flatten\"");
          }
          walk(pool, ancestor.imageId(), found.get());
        });
  }

  /** An image that is flattened or migrated is forgotten a moment before its header says so. */
  private static boolean isStill(IoContext io, String imageId, ImageHeader header) {
    return ImageHeader.read(io, imageId)
        .filter(now -> now.parent().equals(header.parent()))
        .filter(now -> now.migration().equals(header.migration()))
        .isPresent();
  }

  private static CephException refused(IoContext io, String imageId, String why) {
    return ReturnCode.exception(-Errno.EBADMSG.number(), "open", describe(io, imageId), why);
  }

  private static String describe(IoContext io, String imageId) {
    return "image " + new RbdPool(io).describe(imageId);
  }

  /** Works where an ancestor is; not where nothing can be read. */
  private void at(IoContext io, ImageLink link, Consumer<IoContext> work) {
    if (link.poolId() == io.poolId() && link.namespace().equals(io.namespace())) {
      work.accept(io);
      return;
    }
    try (IoContext other = io.cluster().openPool(link.poolId(), link.namespace())) {
      work.accept(other);
    } catch (CephException.NotFound e) {
      return; // there is no such pool
    } catch (CephException.Denied e) {
      if (acknowledged) { // the manager may read it
        throw e;
      }
    }
  }
}
