package io.cephcsi.driver.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads and writes omaps of one namespace with the {@code rados} program. */
public final class Omaps {
  private static final Pattern ENTRY =
      Pattern.compile(
          """
          (?<key>[\\x20-\\x7e]+)
          value \\((?<length>\\d+) bytes\\) :
          (?<rows>(?:[0-9a-f]{8} .*\\n)*)(?:[0-9a-f]{8}\\n)?
          """);
  private static final Pattern HEX = Pattern.compile("^[0-9a-f]{8}  ([0-9a-f ]{48}).*$");

  private final TestCluster cluster;
  private final String pool;
  private final String namespace;

  /** The omaps of a namespace of a pool. */
  public Omaps(TestCluster cluster, String pool, String namespace) {
    this.cluster = cluster;
    this.pool = pool;
    this.namespace = namespace;
  }

  private String rados(String... args) {
    return cluster.rados(
        java.util.stream.Stream.concat(
                java.util.stream.Stream.of("-p", pool, "-N", namespace),
                java.util.Arrays.stream(args))
            .toArray(String[]::new));
  }

  /** The names of all objects. */
  public List<String> objects() {
    return rados("ls").lines().sorted().toList();
  }

  /** Makes objects with their omaps. */
  public void put(Map<String, Map<String, String>> objects) {
    try (RadosCluster connection = cluster.connect();
        IoContext io = connection.openPool(pool, namespace)) {
      objects.forEach(
          (object, omap) -> {
            try (WriteOperation write = new WriteOperation()) {
              write.create();
              omap.forEach((key, value) -> write.omapSet(key, value.getBytes(UTF_8)));
              io.operate(object, write);
            }
          });
    }
  }

  /** Makes an object without an omap. */
  public void create(String object) {
    rados("touch", object);
  }

  /** Removes an object. */
  public void remove(String object) {
    rados("rm", object);
  }

  /** Sets a key. */
  public void set(String object, String key, String value) {
    rados("setomapval", object, key, value);
  }

  /** Sets a key to any bytes. */
  public void set(String object, String key, byte[] value) {
    try (RadosCluster connection = cluster.connect();
        IoContext io = connection.openPool(pool, namespace);
        WriteOperation write = new WriteOperation()) {
      io.operate(object, write.omapSet(key, value));
    }
  }

  /** The bytes of a key. */
  public byte[] bytes(String object, String key) {
    try (RadosCluster connection = cluster.connect();
        IoContext io = connection.openPool(pool, namespace);
        ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(key));
      io.operate(object, read);
      return values.get().getOrDefault(key, new byte[0]);
    }
  }

  /** Removes a key. */
  public void removeKey(String object, String key) {
    rados("rmomapkey", object, key);
  }

  /** All keys of an object with the bytes of their values, each as a character. */
  public Map<String, String> of(String object) {
    String dump = rados("listomapvals", object);
    Map<String, String> omap = new TreeMap<>();
    int end = 0;
    Matcher entry = ENTRY.matcher(dump);
    while (entry.find() && entry.start() == end) {
      omap.put(entry.group("key"), fromHex(entry.group("rows"), entry.group("length")));
      end = entry.end();
    }
    // A key that cannot be printed, and a row of zeros, look otherwise.
    return end == dump.length() ? omap : oneByOne(object);
  }

  private static String fromHex(String rows, String length) {
    StringBuilder hex = new StringBuilder();
    rows.lines().forEach(row -> hex.append(HEX.matcher(row).replaceFirst("$1").replace(" ", "")));
    byte[] bytes = HexFormat.of().parseHex(hex);
    if (bytes.length != Integer.parseInt(length)) {
      throw new IllegalStateException(length + " bytes are shown as " + rows);
    }
    return new String(bytes, UTF_8);
  }

  private Map<String, String> oneByOne(String object) {
    try {
      Path file = Files.createTempFile("omap", "");
      try {
        Map<String, String> omap = new TreeMap<>();
        for (String key : rados("listomapkeys", object).lines().toList()) {
          rados("getomapval", object, key, file.toString());
          omap.put(key, new String(Files.readAllBytes(file), UTF_8));
        }
        return omap;
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** All objects with their omaps. */
  public Map<String, Map<String, String>> all() {
    Map<String, Map<String, String>> all = new TreeMap<>();
    objects().forEach(object -> all.put(object, of(object)));
    return all;
  }
}
