package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * How much work a reclaim that is measured does at once and in a second.
 *
 * @param sharePercent which part of the most throughput its limit is; 0 if it was given
 */
record BenchLoad(ReclaimPlan plan, int sharePercent) {
  private static final List<Integer> SHARES = List.of(25, 50, 75);
  private static final long LEAST_RATE = 1 << 20; // what ReclaimPlan takes

  /**
   * A load.
   *
   * @param rate in bytes a second; 0 for no limit
   * @throws ConfigException when a reclaim does not take it
   */
  static BenchLoad of(String method, int concurrency, long rate, int sharePercent) {
    Map<String, String> parameters = new LinkedHashMap<>();
    parameters.put("reclaim.method", method);
    parameters.put("reclaim.concurrency", Integer.toString(concurrency));
    if (rate > 0) {
      parameters.put("reclaim.maxBytesPerSecond", Long.toString(rate));
    }
    try {
      return new BenchLoad(ReclaimPlan.parse(parameters), sharePercent);
    } catch (VolumeException e) {
      throw new ConfigException(String.valueOf(e.getMessage()), e);
    }
  }

  /** Parts of the load at which a trim was quickest; none if nothing was measured. */
  static List<BenchLoad> shares(List<BenchPoint> points) {
    return points.stream()
        .max(Comparator.comparingDouble(BenchPoint::rate))
        .map(
            best -> {
              double most = best.rate() * ScratchImage.OBJECT_BYTES;
              return SHARES.stream()
                  .map(
                      share ->
                          of(
                              "trim",
                              best.concurrency(),
                              Math.max(LEAST_RATE, (long) (most * share / 100)),
                              share));
            })
        .orElse(Stream.empty())
        .toList();
  }
}
