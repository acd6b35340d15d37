package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.CutOffFlatten;
import io.cephcsi.bindings.rados.IoContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends flattenings that were cut off, and says so in the log. Blocks on the cluster. */
public final class EndedFlatten {
  private static final Logger LOG = LoggerFactory.getLogger(EndedFlatten.class);

  private EndedFlatten() {}

  /**
   * As {@link CutOffFlatten#end}.
   *
   * @param what the image is of, for the log
   */
  public static boolean of(IoContext io, String imageId, String what) {
    boolean ended = CutOffFlatten.end(io, imageId);
    if (ended) {
      LOG.info(
          "the image of {}, or one that it is a clone of, was flattened but for the last step; that"
              + " is made up for: it needs its parent no more",
          what);
    }
    return ended;
  }
}
