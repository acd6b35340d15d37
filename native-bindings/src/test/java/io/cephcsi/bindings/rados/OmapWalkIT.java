package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Omaps of any size are visited as a whole, and lists of objects without keeping them. */
class OmapWalkIT {
  private static final TestCluster CEPH = TestCluster.shared();
  private static final String OBJECT = "walked";

  private RadosCluster cluster;
  private IoContext io;

  @BeforeEach
  void open() {
    cluster = CEPH.connect();
    io = cluster.openPool(CEPH.pool(), "walk-" + UUID.randomUUID());
  }

  @AfterEach
  void close() {
    io.objects().forEach(io::remove);
    io.close();
    cluster.close();
  }

  private void put(Map<String, byte[]> keys) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(OBJECT, write.create().omapSet(keys));
    }
  }

  private List<String> walk(String prefix) {
    List<String> keys = new ArrayList<>();
    assertThat(
            OmapWalk.keys(
                io,
                OBJECT,
                prefix,
                (key, value) -> {
                  assertThat(new String(value, UTF_8)).isEqualTo("of " + key);
                  keys.add(key);
                }))
        .isTrue();
    return keys;
  }

  @Test
  void allKeysOfAPrefixAreVisitedOnceInTheirOrder() {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 2500; i++) {
      String key = String.format("a_%05d", i);
      expected.add(key);
      keys.put(key, ("of " + key).getBytes(UTF_8));
      keys.put("b" + key, ("of b" + key).getBytes(UTF_8));
    }
    put(keys);
    assertThat(walk("a_")).isEqualTo(expected);
    assertThat(walk("")).hasSize(5000);
    assertThat(walk("c")).isEmpty();
  }

  @Test
  void anObjectThatIsNotThereHasNoKeys() {
    assertThat(walk("")).isEmpty();
  }

  @Test
  void keysThatAreDamagedTextAreVisitedLikeOthers() {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (int i = 0; i < 1500; i++) {
      String key = String.format("\uFFFD%05d", i);
      keys.put(key, ("of " + key).getBytes(UTF_8));
    }
    keys.put("a", "of a".getBytes(UTF_8));
    put(keys);
    assertThat(walk("")).hasSize(1501).startsWith("a").doesNotHaveDuplicates();
  }

  /** Such keys only C can write. */
  @Test
  void keysThatAreNoTextAreVisitedToo() throws Exception {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (int i = 0; i < 999; i++) {
      keys.put(String.format("a%05d", i), new byte[0]);
    }
    for (int i = 0; i < 1200; i++) { // their bytes are behind 0x81 and before 0xff
      keys.put(String.format("\u00e9%05d", i), new byte[0]);
    }
    put(keys);
    String set =
        "for key in $'\\x81' $'\\xff'; do rados -c \"$0\" -p \"$1\" -N \"$2\" setomapval \"$3\" \"$key\" x"
            + " || exit; done";
    Process process =
        new ProcessBuilder(
                "bash", "-c", set, CEPH.conf().toString(), io.pool(), io.namespace(), OBJECT)
            .inheritIO()
            .start();
    assertThat(process.waitFor()).isZero();
    List<String> visited = new ArrayList<>();
    assertThat(OmapWalk.keys(io, OBJECT, "", (key, value) -> visited.add(key))).isTrue();
    assertThat(visited).hasSize(2201).contains("\uFFFD", "\u00e901199");
  }

  @Test
  void objectsAreVisited() {
    for (int i = 0; i < 20; i++) {
      io.writeFull("object-" + i, new byte[1]);
    }
    List<String> visited = new ArrayList<>();
    io.objects(visited::add);
    assertThat(visited).hasSize(20).containsExactlyInAnyOrderElementsOf(io.objects());
  }
}
