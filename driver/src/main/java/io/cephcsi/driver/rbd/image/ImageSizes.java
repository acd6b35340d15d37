package io.cephcsi.driver.rbd.image;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;

/** The limits of image sizes. Pure. */
public final class ImageSizes {
  /** Of one image: cls_rbd refuses object maps of more. */
  static final long MAX_OBJECTS = 256_000_000;

  private ImageSizes() {}

  /**
   * Refuses an image of more objects than an object map can have.
   *
   * @param size in bytes
   * @param objectSize in bytes
   * @throws VolumeException OUT_OF_RANGE
   */
  public static void require(long size, long objectSize) {
    if (size / objectSize >= MAX_OBJECTS) {
      throw new VolumeException(
          Reason.OUT_OF_RANGE,
          "an image of "
              + size
              + " bytes has too many objects of "
              + objectSize
              + " bytes; at most "
              + MAX_OBJECTS
              + " are possible");
    }
  }
}
