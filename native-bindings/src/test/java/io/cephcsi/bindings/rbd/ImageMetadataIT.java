package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ImageMetadataIT extends RbdCase {
  @Test
  void valuesOfAnyLengthAreSeenByBothClients() {
    create(PLAIN, 1);
    String large = "x".repeat(10 << 10);
    try (RbdImage image = pool.open(name)) {
      ImageMetadata metadata = image.metadata();
      assertThat(metadata.list()).isEmpty();
      assertThat(metadata.get("key")).isEmpty();
      metadata.set("key", "значение");
      metadata.set("large", large);
      metadata.set("empty", "");
      assertThat(metadata.get("key")).contains("значение");
      assertThat(metadata.get("large")).contains(large);
      assertThat(metadata.get("empty")).contains("");
      assertThat(ceph.rbd("image-meta", "get", spec(), "large").strip()).isEqualTo(large);
      ceph.rbd("image-meta", "set", spec(), "key", "new");
      assertThat(metadata.get("key")).contains("new");
      assertThat(metadata.list()).isEqualTo(Map.of("key", "new", "large", large, "empty", ""));
      metadata.remove("key");
      assertThat(metadata.get("key")).isEmpty();
      assertThatThrownBy(() -> metadata.remove("key")).isInstanceOf(CephException.NotFound.class);
    }
  }

  @Test
  void manyKeysAreListedInOrderByPagesAndAtOnce() {
    create(PLAIN, 1);
    Map<String, String> expected = new TreeMap<>();
    try (RbdImage image = pool.open(name)) {
      ImageMetadata metadata = image.metadata();
      for (int i = 0; i < 300; i++) {
        String key = String.format("key-%03d", i);
        expected.put(key, "a value that is not short, number " + i);
        metadata.set(key, expected.get(key));
      }
      assertThat(metadata.list()).containsExactlyEntriesOf(expected);
      assertThat(metadata.page("", 7)).hasSize(7).containsKeys("key-000", "key-006");
      assertThat(metadata.page("key-099", 100)).hasSize(100).containsKeys("key-100", "key-199");
      assertThat(metadata.page("key-295", 100)).hasSize(4);
      assertThat(metadata.page("key-299", 100)).isEmpty();
    }
  }
}
