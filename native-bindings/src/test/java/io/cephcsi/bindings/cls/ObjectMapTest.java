package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.ImageLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ObjectMapTest {
  /** Encodes a map as librbd stores it. */
  private static byte[] encoded(int[] states) {
    byte[] data = new byte[(states.length + 3) / 4];
    for (int i = 0; i < states.length; i++) {
      data[i / 4] |= (byte) (states[i] << (6 - 2 * (i % 4)));
    }
    return encoded(data, states.length);
  }

  private static byte[] encoded(byte[] data, long objects) {
    int bits = data.length;
    int blocks = (bits + 4095) / 4096;
    ByteBuffer to = ByteBuffer.allocate(18 + bits + 12 + 4 * blocks);
    to.order(ByteOrder.LITTLE_ENDIAN);
    to.putInt(14).put((byte) 1).put((byte) 1).putInt(8).putLong(objects).put(data);
    to.putInt(8 + 4 * blocks).putInt(rawCrc(to.array(), 4, 14)).putInt(blocks);
    for (int i = 0; i < blocks; i++) {
      to.putInt(rawCrc(data, 4096 * i, Math.min(4096, bits - 4096 * i)));
    }
    return to.array();
  }

  /** CRC-32C bit by bit, beginning with 0, not inverted. */
  private static int rawCrc(byte[] data, int from, int length) {
    int crc = 0;
    for (int i = from; i < from + length; i++) {
      crc ^= data[i] & 0xff;
      for (int bit = 0; bit < 8; bit++) {
        crc = (crc & 1) != 0 ? crc >>> 1 ^ 0x82F63B78 : crc >>> 1;
      }
    }
    return crc;
  }

  private static int[] random(int objects, long seed) {
    return new Random(seed).ints(objects, 0, 4).toArray();
  }

  @Test
  void theCheckOfTheTestIsTheUsualOne() {
    CRC32C usual = new CRC32C();
    usual.update(new byte[] {1, 2, 3});
    CRC32C zeroes = new CRC32C();
    zeroes.update(new byte[3]);
    assertThat(rawCrc(new byte[] {1, 2, 3}, 0, 3))
        .isEqualTo((int) (usual.getValue() ^ zeroes.getValue()));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3, 4, 31, 32, 33, 64, 1000, 16384, 16385, 40001})
  void objectsAreFoundAndCounted(int objects) {
    int[] states = random(objects, objects);
    ObjectMap map = ObjectMap.decode(encoded(states), objects).orElseThrow();
    long existing = 0;
    long next = map.nextExisting(0);
    for (int i = 0; i < objects; i++) {
      assertThat(map.exists(i)).isEqualTo(states[i] != 0);
      assertThat(map.isClean(i)).isEqualTo(states[i] == 3);
      if (states[i] != 0) {
        existing++;
        assertThat(next).isEqualTo(i);
        next = map.nextExisting(i + 1L);
      }
    }
    assertThat(next).isEqualTo(-1);
    assertThat(map.existing()).isEqualTo(existing);
    assertThat(map.exists(objects)).isFalse();
  }

  @Test
  void theBytesOfObjectsAreThoseOfADiffFromNothing() {
    for (ImageLayout layout :
        new ImageLayout[] {
          new ImageLayout(999L * 4096 + 1000, 4096, 4096, 1),
          new ImageLayout(995L * 4096, 4096, 4096, 1),
          new ImageLayout(999L * 4096 + 1000, 4096, 1024, 7)
        }) {
      int objects = (int) layout.objects();
      for (long seed = 0; seed < 20; seed++) {
        ObjectMap map = ObjectMap.decode(encoded(random(objects, seed)), objects).orElseThrow();
        MapDiff diff = MapDiff.fromNothing();
        diff.next(map);
        assertThat(map.existingBytes(layout)).isEqualTo(diff.writtenBytes(layout)).isPositive();
      }
    }
  }

  @Test
  void aMapOfMoreThanEightMebibytesIsNotRead() {
    long most = ObjectMap.MOST_OBJECTS;
    assertThat(ObjectMap.decode(encoded(new byte[8 << 20], most), most)).isPresent();
    byte[] more = encoded(new byte[(8 << 20) + 1], most + 1);
    assertThat(ObjectMap.decode(more, most + 1)).isEmpty();
    assertThat(ObjectMap.decode(more, 5)).isEmpty();
  }

  @Test
  void whatIsBeyondTheImageIsCutOff() {
    ObjectMap map = ObjectMap.decode(encoded(new int[] {1, 1, 1, 1, 1}), 3).orElseThrow();
    assertThat(map.existing()).isEqualTo(3);
    assertThat(map.nextExisting(3)).isEqualTo(-1);
  }

  @Test
  void aMapThatIsShortOrLongOrDamagedIsRefused() {
    byte[] good = encoded(random(100, 1));
    assertThat(ObjectMap.decode(good, 100)).isPresent();
    assertThat(ObjectMap.decode(good, 101)).isEmpty();
    assertThat(ObjectMap.decode(Arrays.copyOf(good, good.length - 1), 100)).isEmpty();
    assertThat(ObjectMap.decode(Arrays.copyOf(good, good.length + 1), 100)).isEmpty();
    assertThat(ObjectMap.decode(new byte[0], 0)).isEmpty();
    for (int i = 18; i < 18 + 25; i++) {
      byte[] damaged = good.clone();
      damaged[i] ^= 0x10;
      assertThat(ObjectMap.decode(damaged, 100)).as("byte %s", i).isEmpty();
    }
  }

  private record Fate(boolean data, boolean updated) {
    boolean written() {
      return data && updated;
    }
  }

  /** The rules for one object, said plainly. */
  private static Fate fate(int[] states, boolean hasStart) {
    boolean data = hasStart && states[0] != 0;
    boolean updated = false;
    for (int i = hasStart ? 1 : 0; i < states.length; i++) {
      if (states[i] == 1 || states[i] == 2 || (states[i] == 3 && !data)) {
        data = true;
        updated = true;
      } else if (states[i] == 0 && data) {
        data = false;
        updated = true;
      }
    }
    return new Fate(data, updated);
  }

  @Test
  void aDiffOverMapsFollowsTheRulesObjectByObject() {
    ImageLayout layout = new ImageLayout(999L * 4096 + 1000, 4096, 4096, 1);
    for (long seed = 0; seed < 50; seed++) {
      int[][] states = {random(1000, 3 * seed), random(1000, 3 * seed + 1), random(1000, seed + 7)};
      MapDiff all = MapDiff.fromNothing();
      MapDiff since = MapDiff.from(ObjectMap.decode(encoded(states[0]), 1000).orElseThrow());
      for (int i = 0; i < 3; i++) {
        ObjectMap map = ObjectMap.decode(encoded(states[i]), 1000).orElseThrow();
        all.next(map);
        if (i > 0) {
          since.next(map);
        }
      }
      long allBytes = 0;
      long sinceBytes = 0;
      BitSet updated = new BitSet();
      for (int o = 0; o < 1000; o++) {
        int[] history = {states[0][o], states[1][o], states[2][o]};
        allBytes += fate(history, false).written() ? layout.bytesOf(o) : 0;
        updated.set(o, fate(history, true).updated());
        sinceBytes += fate(history, true).written() ? layout.bytesOf(o) : 0;
      }
      assertThat(all.writtenBytes(layout)).isEqualTo(allBytes);
      assertThat(since.writtenBytes(layout)).isEqualTo(sinceBytes);
      assertThat(since.updated()).isEqualTo(updated);
    }
  }

  @Test
  void everyByteOfAnImageIsInOneObject() {
    Random random = new Random(11);
    for (int round = 0; round < 300; round++) {
      long objectSize = 4096L << random.nextInt(3);
      long unit = objectSize >> random.nextInt(4);
      long stripes = 1L + random.nextInt(5);
      ImageLayout layout =
          new ImageLayout(
              1 + random.nextLong(40 * objectSize),
              objectSize,
              stripes == 1 ? objectSize : unit,
              stripes);
      long[] bytes = new long[(int) (layout.objects() + stripes)];
      long step = layout.stripeUnit();
      for (long at = 0; at < layout.size(); at += step) {
        bytes[(int) layout.objectOf(at)] += Math.min(step, layout.size() - at);
      }
      for (int o = 0; o < bytes.length; o++) {
        assertThat(layout.bytesOf(o)).as("%s object %s", layout, o).isEqualTo(bytes[o]);
        assertThat(bytes[o] > 0).isEqualTo(o < layout.objects());
      }
    }
  }
}
