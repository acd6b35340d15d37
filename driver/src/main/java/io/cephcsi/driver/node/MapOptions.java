package io.cephcsi.driver.node;

import io.cephcsi.driver.volume.VolumeException;

/**
 * The StorageClass parameters {@code mapOptions} and {@code unmapOptions}: {@code
 * krbd:a,b;nbd:c;fuse:d}, and without a name for krbd.
 */
final class MapOptions {
  private MapOptions() {}

  /**
   * The options for one attacher.
   *
   * @throws VolumeException INVALID_ARGUMENT for an attacher that does not exist
   */
  static String of(String text, AttacherKind kind) {
    StringBuilder options = new StringBuilder();
    for (String part : text.split(";", -1)) {
      int colon = part.indexOf(':');
      String name = colon < 0 ? AttacherKind.KRBD.mounter() : part.substring(0, colon).strip();
      AttacherKind meant =
          AttacherKind.named(name)
              .orElseThrow(
                  () ->
                      VolumeException.invalid(
                          "mapOptions: \"" + name + "\" is none of krbd, nbd and fuse"));
      String values = part.substring(colon + 1).strip();
      if (meant == kind && !values.isEmpty()) {
        options.append(options.isEmpty() ? "" : ",").append(values);
      }
    }
    return options.toString();
  }
}
