package io.cephcsi.driver.rbd.diff;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.volume.Extent;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExtentBatchesTest {
  private final List<List<Extent>> batches = new ArrayList<>();

  private ExtentBatches batches(long from, int max) {
    return new ExtentBatches(
        100,
        from,
        max,
        (capacity, extents) -> {
          assertThat(capacity).isEqualTo(100);
          batches.add(extents);
        });
  }

  @Test
  void whatTouchesIsOneAlsoOverAFlush() {
    ExtentBatches put = batches(0, 10);
    put.add(0, 5);
    put.add(5, 5);
    put.flush();
    put.add(10, 1);
    put.add(12, 3);
    put.add(13, 4);
    put.finish();
    assertThat(batches).containsExactly(List.of(new Extent(0, 11), new Extent(12, 5)));
  }

  @Test
  void aBatchHasNoMoreThanAskedFor() {
    ExtentBatches put = batches(0, 2);
    for (int i = 0; i < 5; i++) {
      put.add(10L * i, 1);
      put.flush();
    }
    put.finish();
    assertThat(batches).hasSize(3);
    assertThat(batches.stream().flatMap(List::stream).map(Extent::offset))
        .containsExactly(0L, 10L, 20L, 30L, 40L);
  }

  @Test
  void whatLiesOutsideIsCutOff() {
    ExtentBatches put = batches(50, 10);
    put.add(0, 10);
    put.add(40, 20);
    put.add(95, 20);
    put.finish();
    assertThat(batches).containsExactly(List.of(new Extent(50, 10), new Extent(95, 5)));
  }

  @Test
  void nothingIsOneEmptyBatch() {
    batches(0, 10).finish();
    assertThat(batches).containsExactly(List.of());
  }
}
