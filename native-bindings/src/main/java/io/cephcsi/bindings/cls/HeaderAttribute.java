package io.cephcsi.bindings.cls;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.Arrays;

/**
 * An extended attribute of an image's header object, for a driver's own use. librbd does not read
 * it. Unlike the image's metadata, clones and copies of the image do not inherit it.
 *
 * @param name of the attribute
 * @param value what is noted
 */
public record HeaderAttribute(String name, String value) {

  /** Writes it together with something else that is written to the header. */
  void addTo(WriteOperation write) {
    write.setXattr(name, value.getBytes(UTF_8));
  }

  /**
   * Writes it; one round trip.
   *
   * @param imageId the image's id
   * @throws CephException.NotFound if there is no image of this id
   */
  public void write(IoContext io, String imageId) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      addTo(write);
      io.operate(ImageHeader.object(imageId), write);
    }
  }

  /**
   * Whether an image has it; one round trip.
   *
   * @param imageId the image's id
   * @return false also if there is no image of this id
   */
  public boolean isOn(IoContext io, String imageId) {
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.getXattrs();
      io.operate(ImageHeader.object(imageId), read);
      return Arrays.equals(attributes.get().get(name), value.getBytes(UTF_8));
    } catch (CephException.NotFound e) {
      return false;
    }
  }
}
