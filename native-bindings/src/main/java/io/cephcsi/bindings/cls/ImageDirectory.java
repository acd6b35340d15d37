package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import java.util.function.BiConsumer;

/**
 * The images of a pool and namespace by name, read from the objects that have them. {@code
 * rbd_list2} is not called: it calls {@code trash_list}, too, and a damaged entry of the trash has
 * that end the OSD ({@link TrashDirectory}).
 *
 * <pre>
 *   rbd_directory    omap   name_NAME  →  string id
 * </pre>
 *
 * <p>Blocks, one round trip for every 1,000 names; safe for several threads.
 */
public final class ImageDirectory {
  private static final String OBJECT = "rbd_directory";
  private static final String KEY = "name_";

  private ImageDirectory() {}

  /**
   * Visits the names of the directory, and the id of each: empty, if its bytes are damaged.
   *
   * @return false if a key that others wrote keeps what follows from being read
   */
  public static boolean walk(IoContext io, BiConsumer<String, String> visitor) {
    return OmapWalk.keys(
        io, OBJECT, KEY, (key, value) -> visitor.accept(key.substring(KEY.length()), id(value)));
  }

  private static String id(byte[] value) {
    try {
      return ClassOutput.decode(OBJECT, value, ClassOutput::string);
    } catch (CephException e) {
      return "";
    }
  }

  /**
   * Visits all images, those that are being removed too, and those in the trash not, as {@code
   * rbd_list2} gives them; images of the old format 1 are left out.
   *
   * @return false as of {@link #walk}
   */
  public static boolean all(IoContext io, BiConsumer<String, String> visitor) {
    boolean all = walk(io, visitor);
    TrashDirectory.removing(io).forEach(entry -> visitor.accept(entry.name(), entry.id()));
    return all;
  }
}
