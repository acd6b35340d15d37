package io.cephcsi.driver.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/** All bytes of the objects of one namespace: written as they are, read by {@code rados}. */
public final class RawObjects {
  private final TestCluster cluster;
  private final IoContext pool;

  /** The objects of a namespace. */
  public RawObjects(TestCluster cluster, IoContext pool) {
    this.cluster = cluster;
    this.pool = pool;
  }

  /** Replaces an object. */
  public void put(String object, RawObject bytes) {
    try {
      pool.remove(object);
    } catch (CephException.NotFound e) {
      // as it shall be
    }
    try (WriteOperation write = new WriteOperation()) {
      write.createExclusive().writeFull(bytes.data());
      if (!bytes.omap().isEmpty()) {
        write.omapSet(bytes.omap());
      }
      bytes.xattrs().forEach(write::setXattr);
      pool.operate(object, write);
    }
  }

  /** An object, if there is one. */
  public Optional<RawObject> get(String object) {
    if (rados("ls").lines().noneMatch(object::equals)) {
      return Optional.empty();
    }
    Map<String, byte[]> xattrs = new TreeMap<>();
    for (String name : rados("listxattr", object).lines().toList()) {
      xattrs.put(name, rados("getxattr", object, name).getBytes(UTF_8)); // ASCII in all tests
    }
    Map<String, byte[]> omap = new TreeMap<>();
    for (String key : rados("listomapkeys", object).lines().toList()) {
      omap.put(key, toFile("getomapval", object, key));
    }
    return Optional.of(new RawObject(xattrs, toFile("get", object), omap));
  }

  private byte[] toFile(String... args) {
    try {
      Path file = Files.createTempFile("object", "");
      try {
        rados(
            Stream.concat(Arrays.stream(args), Stream.of(file.toString())).toArray(String[]::new));
        return Files.readAllBytes(file);
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String rados(String... args) {
    return cluster.rados(
        Stream.concat(Stream.of("-p", pool.pool(), "-N", pool.namespace()), Arrays.stream(args))
            .toArray(String[]::new));
  }
}
