package io.cephcsi.driver.fsck.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class DataObjectsFoundTest {
  @Test
  void dataObjectsAreCountedByImage() {
    DataObjectsFound found = new DataObjectsFound(true);
    for (int i = 0; i < 100; i++) {
      assertThat(found.add(String.format("rbd_data.abc1.%016x", i * 2))).isTrue();
    }
    assertThat(found.add("rbd_data.7.abc2.0000000000000001")).isTrue();
    assertThat(found.add("rbd_header.abc1")).isFalse();
    DataObjectsFound.Found one = found.byPrefix().get("rbd_data.abc1");
    assertThat(one.count()).isEqualTo(100);
    assertThat(one.imageId()).isEqualTo("abc1");
    assertThat(one.poolId()).isEmpty();
    assertThat(one.sample()).hasSize(32);
    assertThat(one.which().orElseThrow().cardinality()).isEqualTo(100);
    assertThat(one.which().orElseThrow().get(4)).isTrue();
    assertThat(one.which().orElseThrow().get(5)).isFalse();
    DataObjectsFound.Found elsewhere = found.byPrefix().get("rbd_data.7.abc2");
    assertThat(elsewhere.poolId()).isEqualTo(OptionalLong.of(7));
    assertThat(elsewhere.imageId()).isEqualTo("abc2");
  }

  @Test
  void namesOfOthersTakeNoMemory() {
    DataObjectsFound found = new DataObjectsFound(true);
    assertThat(found.add("rbd_data.")).isTrue();
    assertThat(found.add("rbd_data.abc.zzz")).isTrue();
    assertThat(found.add("rbd_data.\u001b.0000000000000001")).isTrue();
    assertThat(found.add("rbd_data.99999999999999999999.a.0000000000000001")).isTrue();
    assertThat(found.byPrefix()).isEmpty();
    found.add("rbd_data.abc.ffffffffffffffff");
    found.add("rbd_data.abc.7fffffffffffffff");
    found.add("rbd_data.abc.000000007ffffffe");
    assertThat(found.byPrefix().get("rbd_data.abc").count()).isEqualTo(3);
    assertThat(found.byPrefix().get("rbd_data.abc").which().orElseThrow().size())
        .as("no map of all objects for one number")
        .isLessThan(1 << 20);
  }

  @Test
  void oneOfSixteenImagesIsNotedUnlessAll() {
    DataObjectsFound found = new DataObjectsFound(false);
    for (int i = 0; i < 1600; i++) {
      found.add(String.format("rbd_data.%x.%016x", i, 0));
    }
    assertThat(found.byPrefix().values().stream().filter(one -> one.which().isPresent()).count())
        .isBetween(50L, 200L);
  }
}
