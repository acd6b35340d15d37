package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.ImageSummary;
import io.cephcsi.bindings.rados.IoContext;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * An image by its id and its pool.
 *
 * @param io the pool and namespace; of images in the same pool the same object
 * @param imageId the id
 */
public record ImageLocation(IoContext io, String imageId) {
  /** Those of some images that are in the trash; one round trip for each pool. */
  public static Set<ImageLocation> inTrash(List<ImageLocation> images) {
    Map<IoContext, List<String>> ids = new HashMap<>();
    images.forEach(
        image -> ids.computeIfAbsent(image.io, io -> new ArrayList<>()).add(image.imageId));
    Set<ImageLocation> trash = new HashSet<>();
    ids.forEach(
        (io, inPool) ->
            ImageSummary.inTrash(io, inPool).forEach(id -> trash.add(new ImageLocation(io, id))));
    return trash;
  }
}
