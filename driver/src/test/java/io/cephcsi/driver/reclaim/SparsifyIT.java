package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What sparsify asks of the OSDs, and what it gives back to them. */
class SparsifyIT extends ReclaimCase {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, String> SPARSIFY = Map.of("reclaim.method", "sparsify");

  private static JsonNode json(String... command) {
    try {
      return JSON.readTree(ceph.ceph(command));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * How many messages the OSDs have received: their counters of operations leave out those that
   * found no object.
   */
  private static long messages() {
    long messages = 0;
    for (JsonNode osd : json("osd", "ls", "--format", "json")) {
      for (JsonNode part : json("tell", "osd." + osd.asInt(), "perf", "dump")) {
        messages += part.path("msgr_recv_messages").asLong(0);
      }
    }
    return messages;
  }

  @Test
  void onlyObjectsThatExistAreVisited() {
    int objects = 100;
    pool.create(name, 1L << 40, options().build());
    long step = (1L << 40) / objects / (4 * MIB) * (4 * MIB);
    try (RbdImage image = open()) {
      for (int i = 0; i < objects; i++) {
        image.write(i * step, new byte[4096]);
      }
    }
    assertThat(used()).isEqualTo(4L * MIB * objects);
    long before = messages();
    ReclaimResult result = reclaimed(reclaim(SPARSIFY));
    long asked = messages() - before;
    System.out.printf("sparsify of %d objects of 262144: %d messages to OSDs%n", objects, asked);
    assertThat(result.after()).hasValue(0);
    // An update of the object map before and after, the call itself; and some for the whole image.
    assertThat(asked).isLessThan(2000);
  }

  @Test
  void theDefaultSizeIsWhatTheOsdsAllocateAtOnce() {
    pool.create(name, 64L * MIB, options().build());
    long unit = json("osd", "metadata", "0").path("bluestore_min_alloc_size").asLong(4096);
    try (RbdImage image = pool.openReadOnly(name)) {
      assertThat(SparseSize.of(ReclaimPlan.DEFAULT, image)).isEqualTo(unit);
      ReclaimPlan chosen = ReclaimPlan.parse(Map.of("reclaim.sparseSize", "32768"));
      assertThat(SparseSize.of(chosen, image)).isEqualTo(32768);
      ReclaimPlan large = ReclaimPlan.parse(Map.of("reclaim.sparseSize", "33554432"));
      assertThat(SparseSize.of(large, image)).isEqualTo(4 * MIB);
    }
  }

  private static long allocated(String own) {
    return OsdSpace.settled(ceph, List.of(own)).get(own);
  }

  @Test
  void theDefaultSizeFreesHolesThatALargerOneDoesNot() {
    assumeThat(json("osd", "metadata", "0").path("osd_objectstore").asText())
        .isEqualTo("bluestore");
    String own = "sparse-" + UUID.randomUUID();
    ceph.ceph("osd", "pool", "create", own, "8");
    ceph.rbd("pool", "init", own);
    try (IoContext there = cluster.openPool(own)) {
      RbdPool images = new RbdPool(there);
      ImageOptions options = options().build();
      images.create(name, 64L * MIB, options);
      byte[] data = new byte[4 * MIB];
      new Random(7).nextBytes(data);
      for (int at = 4096; at < data.length; at += 8192) {
        java.util.Arrays.fill(data, at, at + 4096, (byte) 0); // every other 4 KiB
      }
      try (RbdImage image = images.open(name)) {
        for (int i = 0; i < 16; i++) {
          image.write(4L * MIB * i, data);
        }
      }
      long before = allocated(own);
      assertThat(before).isGreaterThanOrEqualTo(64L * MIB);
      TestTarget target = new TestTarget(ceph, images, name);
      ReclaimPlan coarse =
          ReclaimPlan.parse(Map.of("reclaim.method", "sparsify", "reclaim.sparseSize", "65536"));
      reclaimed(operate(operation -> reclaimer.reclaim(target, coarse, operation)));
      assertThat(allocated(own)).isGreaterThanOrEqualTo(64L * MIB);
      ReclaimPlan usual = ReclaimPlan.parse(SPARSIFY);
      reclaimed(operate(operation -> reclaimer.reclaim(target, usual, operation)));
      assertThat(allocated(own)).isLessThan(33L * MIB);
      try (RbdImage image = images.openReadOnly(name)) {
        for (int i = 0; i < 16; i++) {
          assertThat(image.read(4L * MIB * i, data.length)).isEqualTo(data);
        }
      }
    } finally {
      ceph.ceph("osd", "pool", "rm", own, own, "--yes-i-really-really-mean-it");
    }
  }
}
