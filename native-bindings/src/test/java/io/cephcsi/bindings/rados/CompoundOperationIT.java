package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.testing.TestCluster;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CompoundOperationIT {
  private static RadosCluster cluster;
  private static IoContext io;
  private String object;

  @BeforeAll
  static void connect() {
    cluster = TestCluster.shared().connect();
    io = cluster.openPool(TestCluster.shared().pool(), "compound");
  }

  @AfterAll
  static void disconnect() {
    io.close();
    cluster.close();
  }

  @BeforeEach
  void name() {
    object = "object-" + UUID.randomUUID();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private void write(WriteOperation steps) {
    try (WriteOperation op = steps) {
      io.operate(object, op);
    }
  }

  @Test
  void aWriteSetsTheTimeOfTheChangeUntilTheNextWrite() {
    Instant time = Instant.ofEpochSecond(4_000_000_000L);
    write(new WriteOperation().create().modifiedAt(time));
    assertThat(io.stat(object).modified()).isEqualTo(time);
    write(new WriteOperation().setXattr("name", bytes("value")));
    assertThat(io.stat(object).modified()).isBefore(time);
    try (WriteOperation wrong = new WriteOperation().create().modifiedAt(time)) {
      assertThatThrownBy(() -> io.operateVersioned(object, wrong))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("time of the change");
      assertThatThrownBy(() -> wrong.modifiedAt(Instant.EPOCH))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1970");
    }
  }

  @Test
  void everyStepOfOneWriteIsSeenByOneRead() {
    Map<String, byte[]> omap = new LinkedHashMap<>();
    omap.put("a", bytes("1"));
    omap.put("ключ", bytes("значение"));
    omap.put("empty", new byte[0]);
    write(
        new WriteOperation()
            .createExclusive()
            .writeFull(bytes("data"))
            .setXattr("x", new byte[] {0, 1, 0})
            .omapSet(omap));

    try (ReadOperation read = new ReadOperation()) {
      var data = read.read(0, 100);
      var xattrs = read.getXattrs();
      var page = read.omapGetVals("", "", 100);
      var some = read.omapGetByKeys(List.of("ключ", "absent"));
      var stat = read.stat();
      io.operate(object, read);

      assertThat(data.get()).isEqualTo(bytes("data"));
      assertThat(xattrs.get()).containsOnlyKeys("x");
      assertThat(xattrs.get().get("x")).containsExactly(0, 1, 0);
      assertThat(page.get().values()).containsOnlyKeys("a", "empty", "ключ");
      assertThat(page.get().more()).isFalse();
      assertThat(page.get().values().get("empty")).isEmpty();
      assertThat(some.get()).containsOnlyKeys("ключ");
      assertThat(some.get().get("ключ")).isEqualTo(bytes("значение"));
      assertThat(stat.get().size()).isEqualTo(4);
    }
  }

  @Test
  void omapIsReadByPages() {
    Map<String, byte[]> omap = new LinkedHashMap<>();
    for (int i = 0; i < 25; i++) {
      omap.put(String.format("key-%02d", i), bytes("v" + i));
    }
    omap.put("other", bytes(""));
    write(new WriteOperation().create().omapSet(omap));

    List<String> keys = new ArrayList<>();
    String after = "";
    boolean more = true;
    while (more) {
      try (ReadOperation read = new ReadOperation()) {
        var page = read.omapGetVals(after, "key-", 10);
        io.operate(object, read);
        keys.addAll(page.get().values().keySet());
        more = page.get().more();
        after = keys.get(keys.size() - 1);
      }
    }
    assertThat(keys).hasSize(25).isSorted().doesNotContain("other");
  }

  @Test
  void aFailedStepLeavesNothingOfTheOperation() {
    write(new WriteOperation().createExclusive().omapSet("k", bytes("old")));

    assertThatThrownBy(
            () ->
                write(
                    new WriteOperation()
                        .omapSet("other", bytes("new"))
                        .writeFull(bytes("new"))
                        .omapCompare("k", bytes("something else"))))
        .isInstanceOf(CephException.Canceled.class);

    try (ReadOperation read = new ReadOperation()) {
      var page = read.omapGetVals("", "", 10);
      var stat = read.stat();
      io.operate(object, read);
      assertThat(page.get().values()).containsOnlyKeys("k");
      assertThat(stat.get().size()).isZero();
    }
  }

  @Test
  void comparingWithEmptyAsksThatAKeyIsAbsentAlsoInANewObject() {
    write(new WriteOperation().create().omapCompare("k", new byte[0]).omapSet("k", bytes("1")));
    assertThatThrownBy(
            () ->
                write(
                    new WriteOperation()
                        .create()
                        .omapCompare("k", new byte[0])
                        .omapSet("k", bytes("2"))))
        .isInstanceOf(CephException.Canceled.class);
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of("k"));
      io.operate(object, read);
      assertThat(values.get().get("k")).isEqualTo(bytes("1"));
    }
  }

  @Test
  void dataIsComparedBeforeTheObjectIsRemoved() {
    write(new WriteOperation().writeFull(bytes("mine, or not")));
    for (String other : List.of("mine, too", "x", "mine, or not?")) {
      assertThatThrownBy(() -> write(new WriteOperation().compareData(0, bytes(other)).remove()))
          .isInstanceOf(CephException.Canceled.class);
    }
    write(new WriteOperation().compareData(6, bytes("or")).remove());
    assertThatThrownBy(
            () ->
                write(
                    new WriteOperation()
                        .assertExists()
                        .compareData(0, bytes("mine"))
                        .setXattr("x", bytes("1"))))
        .isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void creatingTwiceExclusivelyFails() {
    write(new WriteOperation().createExclusive());
    assertThatThrownBy(() -> write(new WriteOperation().createExclusive()))
        .isInstanceOf(CephException.AlreadyExists.class)
        .hasMessageContaining(object);
  }

  @Test
  void anAssertedVersionGuardsTheWrite() {
    write(new WriteOperation().createExclusive().omapSet("k", bytes("1")));
    long version = io.lastVersion();
    write(new WriteOperation().assertVersion(version).omapSet("k", bytes("2")));

    assertThatThrownBy(
            () -> write(new WriteOperation().assertVersion(version).omapSet("k", bytes("3"))))
        .isInstanceOf(StaleVersionException.class);
    assertThatThrownBy(
            () -> write(new WriteOperation().assertVersion(version + 100).omapSet("k", bytes("3"))))
        .isInstanceOf(StaleVersionException.class);
    try (ReadOperation read = new ReadOperation()) {
      read.assertVersion(version);
      read.omapGetVals("", "", 1);
      assertThatThrownBy(() -> io.operate(object, read)).isInstanceOf(StaleVersionException.class);
    }
  }

  @Test
  void keysAndXattrsAndTheObjectAreRemoved() {
    write(
        new WriteOperation()
            .createExclusive()
            .omapSet(Map.of("a", bytes("1"), "b", bytes("2")))
            .setXattr("x", bytes("1")));
    write(
        new WriteOperation()
            .omapRemove(List.of("a", "absent"))
            .compareXattr("x", bytes("1"))
            .removeXattr("x"));
    try (ReadOperation read = new ReadOperation()) {
      var page = read.omapGetVals("", "", 10);
      var xattrs = read.getXattrs();
      io.operate(object, read);
      assertThat(page.get().values()).containsOnlyKeys("b");
      assertThat(xattrs.get()).isEmpty();
    }
    write(new WriteOperation().remove());
    assertThatThrownBy(() -> io.stat(object)).isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void aMissingObjectIsNotFoundAndHasNoResults() {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetVals("", "", 10);
      assertThatThrownBy(() -> io.operate(object, read)).isInstanceOf(CephException.NotFound.class);
      assertThatThrownBy(values::get).isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void asynchronousWritesCompleteOnce() {
    List<Completion> running = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      try (WriteOperation op = new WriteOperation().create().omapSet("k" + i, bytes("v"))) {
        running.add(io.operateAsync(object, op));
      }
    }
    for (Completion completion : running) {
      completion.await();
      assertThat(completion.version()).isPositive();
      assertThat(completion.isComplete()).isTrue();
      completion.close();
    }
    try (ReadOperation read = new ReadOperation()) {
      var page = read.omapGetVals("", "", 100);
      io.operate(object, read);
      assertThat(page.get().values()).hasSize(64);
    }
  }

  @Test
  void eachOperationSaysItsOwnVersion() {
    long made = versioned(new WriteOperation().create().omapSet("k", bytes("1")));
    long last = io.lastVersion();
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of("k"));
      assertThat(io.operateVersioned(object, read)).isEqualTo(made);
      assertThat(values.get()).containsOnlyKeys("k");
    }
    long next = versioned(new WriteOperation().assertVersion(made).omapSet("k", bytes("2")));
    assertThat(next).isGreaterThan(made);
    assertThat(io.lastVersion()).as("of the context").isEqualTo(last);
    assertThatThrownBy(
            () -> versioned(new WriteOperation().assertVersion(made).omapSet("k", bytes("3"))))
        .isInstanceOf(StaleVersionException.class);
    try (ReadOperation read = new ReadOperation().assertVersion(made)) {
      assertThatThrownBy(() -> io.operateVersioned(object, read))
          .isInstanceOf(StaleVersionException.class)
          .hasMessageContaining("rados_aio_read_op_operate");
    }
    versioned(new WriteOperation().remove());
    assertThatThrownBy(() -> versioned(new WriteOperation().assertVersion(next).create()))
        .as("a version of an object that is gone")
        .isInstanceOf(StaleVersionException.class);
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of("k"));
      assertThatThrownBy(() -> io.operateVersioned(object, read))
          .isInstanceOf(CephException.NotFound.class);
      assertThatThrownBy(values::get).isInstanceOf(IllegalStateException.class);
    }
    assertThat(versioned(new WriteOperation().create()))
        .as("an object that is made anew never has an old version again")
        .isGreaterThan(next);
  }

  private long versioned(WriteOperation operation) {
    try (operation) {
      return io.operateVersioned(object, operation);
    }
  }

  @Test
  void anAsynchronousFailureComesOutOfAwait() {
    write(new WriteOperation().createExclusive());
    try (WriteOperation op = new WriteOperation().createExclusive();
        Completion completion = io.operateAsync(object, op)) {
      assertThatThrownBy(completion::await).isInstanceOf(CephException.AlreadyExists.class);
    }
  }

  @Test
  void objectClassesAreCalledFromReadsAndWrites() {
    // "hello" is the sample class that every OSD has.
    write(new WriteOperation().exec("hello", "record_hello", bytes("Ceph")));
    try (ReadOperation read = new ReadOperation()) {
      var said = read.exec("hello", "say_hello", bytes("Java"));
      io.operate(object, read);
      assertThat(new String(said.get(), UTF_8)).isEqualTo("Hello, Java!");
    }
    assertThat(new String(io.read(object, 0, 100), UTF_8)).isEqualTo("Hello, Ceph!");
    assertThat(new String(io.exec(object, "hello", "say_hello", bytes("you"), 100), UTF_8))
        .isEqualTo("Hello, you!");
  }

  @Test
  void largeValuesDoNotFitTheThreadsBlockAndStillArrive() {
    byte[] large = new byte[300_000];
    large[0] = 1;
    large[large.length - 1] = 2;
    write(new WriteOperation().create().writeFull(large).omapSet("k", large));
    try (ReadOperation read = new ReadOperation().allow(large.length)) {
      var data = read.read(0, large.length + 10);
      var values = read.omapGetByKeys(List.of("k"));
      io.operate(object, read);
      assertThat(data.get()).isEqualTo(large);
      assertThat(values.get().get("k")).isEqualTo(large);
    }
  }

  @Test
  void zeroCharactersInNamesAreRefused() {
    try (WriteOperation op = new WriteOperation()) {
      assertThatThrownBy(() -> op.omapSet("a\0b", bytes("1")))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }
}
