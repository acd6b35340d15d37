package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ObjectWalkTest {
  private static final long OBJECT = 1 << 20;
  private static final long SIZE = 5000 * OBJECT + 4096;

  private static ImageLayout layout(int stripes) {
    return new ImageLayout(SIZE, OBJECT, stripes > 1 ? 64 << 10 : OBJECT, stripes);
  }

  @Test
  void everyByteIsAskedForOnceInPieces() {
    for (int stripes : new int[] {1, 5, 3000}) {
      List<long[]> asked = new ArrayList<>();
      ImageLayout layout = layout(stripes);
      ObjectMap map =
          ObjectWalk.of(
              layout,
              (offset, length, visitor) -> {
                asked.add(new long[] {offset, length});
                visitor.extent(offset, 4096, true);
                visitor.extent(offset + 4096, 4096, false);
              },
              () -> false);
      long at = 0;
      for (long[] piece : asked) {
        assertThat(piece[0]).isEqualTo(at);
        assertThat(piece[0] % layout.setBytes()).isZero();
        assertThat(piece[1]).isLessThanOrEqualTo(Math.max(1024 * OBJECT, layout.setBytes()));
        assertThat(map.exists(layout.objectOf(at))).isTrue();
        at += piece[1];
      }
      assertThat(at).isEqualTo(SIZE);
      assertThat(map.existing()).isEqualTo(asked.size());
      assertThat(map.objects()).isEqualTo(layout.objects());
    }
  }

  @Test
  void endsBetweenTwoPieces() {
    AtomicInteger pieces = new AtomicInteger();
    assertThatThrownBy(
            () ->
                ObjectWalk.of(
                    layout(1),
                    (offset, length, visitor) -> pieces.incrementAndGet(),
                    () -> pieces.get() == 2))
        .isInstanceOf(InspectionStopped.class);
    assertThat(pieces).hasValue(2);
  }
}
