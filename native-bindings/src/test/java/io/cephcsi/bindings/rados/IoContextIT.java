package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.ceph.rados.IoCTX;
import com.ceph.rados.exceptions.RadosNotFoundException;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class IoContextIT {
  private static final String NAMESPACE = "io-context";

  private static TestCluster ceph;
  private static RadosCluster cluster;
  private static IoContext io;
  private static RadosJava radosJava;
  private static IoCTX other;
  private String object;

  @BeforeAll
  static void connect() throws IOException {
    ceph = TestCluster.shared();
    cluster = ceph.connect();
    io = cluster.openPool(ceph.pool(), NAMESPACE);
    radosJava = RadosJava.connect(ceph);
    other = radosJava.open(ceph.pool(), NAMESPACE);
  }

  @AfterAll
  static void disconnect() {
    radosJava.rados().ioCtxDestroy(other);
    radosJava.close();
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

  private static byte[] readByOther(String object, int length) throws IOException {
    byte[] buffer = new byte[length];
    int got = other.read(object, length, 0, buffer);
    return Arrays.copyOf(buffer, got);
  }

  private static void assertErrno(Errno errno, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(CephException.class, e -> assertThat(e.errno()).isEqualTo(errno));
  }

  @Test
  void whatIsWrittenHereIsReadThere() throws IOException {
    io.write(object, 0, bytes("abc"));
    assertThat(readByOther(object, 10)).isEqualTo(bytes("abc"));
    io.write(object, 5, bytes("fg"));
    assertThat(readByOther(object, 10)).isEqualTo(bytes("abc\0\0fg"));
    io.writeFull(object, bytes("xy"));
    assertThat(readByOther(object, 10)).isEqualTo(bytes("xy"));
    io.append(object, bytes("z"));
    assertThat(readByOther(object, 10)).isEqualTo(bytes("xyz"));
    io.truncate(object, 1);
    assertThat(readByOther(object, 10)).isEqualTo(bytes("x"));
    io.truncate(object, 3);
    assertThat(readByOther(object, 10)).isEqualTo(bytes("x\0\0"));
    io.remove(object);
    assertThatThrownBy(() -> other.stat(object)).isInstanceOf(RadosNotFoundException.class);
  }

  @Test
  void whatIsWrittenThereIsReadHere() throws IOException {
    other.write(object, bytes("abc"), 0);
    assertThat(io.read(object, 0, 100)).isEqualTo(bytes("abc"));
    assertThat(io.read(object, 1, 1)).isEqualTo(bytes("b"));
    assertThat(io.read(object, 3, 10)).isEmpty();
    assertThat(io.read(object, 0, 0)).isEmpty();
    try (ReadOperation op = new ReadOperation()) {
      var nothing = op.read(0, 0);
      var something = op.read(1, 2);
      io.operate(object, op);
      assertThat(nothing.get()).isEmpty();
      assertThat(something.get()).isEqualTo(bytes("bc"));
    }
    other.append(object, bytes("d"));
    assertThat(io.read(object, 2, 100)).isEqualTo(bytes("cd"));
    other.truncate(object, 2);
    assertThat(io.stat(object).size()).isEqualTo(2);
    other.remove(object);
    assertThatThrownBy(() -> io.read(object, 0, 1)).isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void megabytesArriveWhole() throws IOException {
    byte[] large = new byte[3 << 20];
    for (int i = 0; i < large.length; i++) {
      large[i] = (byte) ((i * 31) >> 7);
    }
    io.writeFull(object, large);
    assertThat(readByOther(object, large.length)).isEqualTo(large);
    assertThat(io.read(object, 0, large.length + 1)).isEqualTo(large);
  }

  @Test
  void sizeAndAgeAreThoseOfTheCommand() {
    Instant before = Instant.now().minusSeconds(2);
    io.writeFull(object, new byte[1234]);
    ObjectStat stat = io.stat(object);
    assertThat(stat.size()).isEqualTo(1234);
    assertThat(stat.modified()).isBetween(before, Instant.now().plusSeconds(2));
    assertThat(ceph.rados("-p", ceph.pool(), "-N", NAMESPACE, "stat", object))
        .contains("size 1234");
    assertThatThrownBy(() -> io.stat("absent"))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessage("rados_stat " + ceph.pool() + "/" + NAMESPACE + "/absent: ENOENT");
  }

  @Test
  void textAttributesAreSharedWithTheOtherClient() throws IOException {
    io.writeFull(object, new byte[0]);
    io.setXattr(object, "mine", bytes("value"));
    assertThat(other.getExtendedAttribute(object, "mine")).isEqualTo("value");
    other.setExtendedAttribute(object, "theirs", "wert");
    // rados-java stores the zero byte of the C string, too.
    assertThat(new String(io.getXattr(object, "theirs"), UTF_8)).startsWith("wert");
    other.removeExtendedAttribute(object, "mine");
    assertErrno(Errno.ENODATA, () -> io.getXattr(object, "mine"));
  }

  @Test
  void attributesHoldAnyBytesAndLengths() {
    io.writeFull(object, new byte[0]);
    for (int length : new int[] {0, 1, 4095, 4096, 4097, 40_000}) {
      byte[] value = new byte[length];
      for (int i = 0; i < length; i++) {
        value[i] = (byte) (i % 7 == 0 ? 0 : i);
      }
      io.setXattr(object, "binary", value);
      assertThat(io.getXattr(object, "binary")).isEqualTo(value);
    }
    io.setXattr(object, "short", new byte[] {65, 66, 67});
    assertThat(ceph.rados("-p", ceph.pool(), "-N", NAMESPACE, "getxattr", object, "short"))
        .isEqualTo("ABC");
    io.removeXattr(object, "binary");
    assertThat(ceph.rados("-p", ceph.pool(), "-N", NAMESPACE, "listxattr", object).strip())
        .isEqualTo("short");
  }

  @Test
  void missingAttributesAndObjectsAreToldApart() {
    io.writeFull(object, new byte[0]);
    assertErrno(Errno.ENODATA, () -> io.getXattr(object, "absent"));
    assertErrno(Errno.ENOENT, () -> io.getXattr("absent", "absent"));
    assertErrno(Errno.ENOENT, () -> io.removeXattr("absent", "absent"));
    assertErrno(Errno.ENOENT, () -> io.remove("absent"));
    assertErrno(Errno.ENOENT, () -> io.read("absent", 0, 1));
  }

  @Test
  void truncatingAMissingObjectIsNoError() {
    io.truncate(object, 0);
    assertThatThrownBy(() -> io.stat(object)).isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void namespacesAreApart() throws IOException {
    io.writeFull(object, bytes("mine"));
    try (IoContext defaultSpace = cluster.openPool(ceph.pool());
        IoContext second = cluster.openPool(ceph.pool(), "zweiter-ключ")) {
      assertThatThrownBy(() -> defaultSpace.stat(object))
          .isInstanceOf(CephException.NotFound.class)
          .hasMessageContaining(" " + ceph.pool() + "/" + object);
      second.writeFull(object, bytes("theirs"));
      assertThat(second.objects()).containsExactly(object);
      assertThat(ceph.rados("-p", ceph.pool(), "-N", "zweiter-ключ", "ls").strip())
          .isEqualTo(object);
      second.remove(object);
    }
    assertThat(io.read(object, 0, 10)).isEqualTo(bytes("mine"));
  }

  @Test
  void objectsAreListedWhateverTheirNames() throws IOException {
    String space = "list-" + UUID.randomUUID();
    try (IoContext mine = cluster.openPool(ceph.pool(), space)) {
      assertThat(mine.objects()).isEmpty();
      List<String> names = new ArrayList<>(List.of("ключ 語", "with space", "x".repeat(1000)));
      for (int i = 0; i < 40; i++) {
        names.add("object-" + i);
      }
      for (String name : names) {
        mine.writeFull(name, bytes("1"));
      }
      assertThat(mine.objects()).containsExactlyInAnyOrderElementsOf(names);
      assertThat(ceph.rados("-p", ceph.pool(), "-N", space, "ls").lines())
          .containsExactlyInAnyOrderElementsOf(names);
      names.forEach(mine::remove);
      assertThat(mine.objects()).isEmpty();
    }
  }

  @Test
  void theLastVersionGrowsWithEachWrite() {
    try (IoContext mine = cluster.openPool(ceph.pool(), NAMESPACE)) {
      mine.writeFull(object, bytes("1"));
      long first = mine.lastVersion();
      mine.writeFull(object, bytes("2"));
      assertThat(mine.lastVersion()).isGreaterThan(first);
      long second = mine.lastVersion();
      mine.read(object, 0, 1);
      assertThat(mine.lastVersion()).isEqualTo(second);
    }
  }

  @Test
  void flushWaitsForAllWritesOnTheirWay() throws IOException {
    List<Completion> running = new ArrayList<>();
    for (int i = 0; i < 32; i++) {
      try (WriteOperation op = new WriteOperation().write(i, new byte[] {(byte) i})) {
        running.add(io.operateAsync(object, op));
      }
    }
    io.flush();
    assertThat(running).allMatch(Completion::isComplete);
    running.forEach(Completion::close);
    assertThat(readByOther(object, 100)).hasSize(32);
  }

  @Test
  void aCompletionThatIsClosedEarlyIsWaitedFor() {
    try (WriteOperation op = new WriteOperation().writeFull(bytes("done"))) {
      io.operateAsync(object, op).close();
    }
    assertThat(io.read(object, 0, 10)).isEqualTo(bytes("done"));
  }

  @Test
  void operationsAreCarriedOutOnceOnly() {
    // librados itself would do nothing the second time, and report success.
    try (WriteOperation op = new WriteOperation().writeFull(bytes("1"))) {
      io.operate(object, op);
      assertThatThrownBy(() -> io.operate(object, op)).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> io.operateAsync(object, op))
          .isInstanceOf(IllegalStateException.class);
    }
    try (ReadOperation op = new ReadOperation()) {
      var data = op.read(0, 10);
      io.operate(object, op);
      assertThatThrownBy(() -> io.operate(object, op)).isInstanceOf(IllegalStateException.class);
      assertThat(data.get()).isEqualTo(bytes("1"));
    }
    assertThat(io.read(object, 0, 10)).isEqualTo(bytes("1"));
  }

  @Test
  void everyStepOfACompoundWriteDoesWhatItsSingleTwinDoes() {
    try (WriteOperation op =
        new WriteOperation()
            .create()
            .write(4, bytes("56"))
            .write(6, bytes("7"))
            .truncate(6)
            .setXattr("x", bytes("1"))
            .omapSet("old", bytes("1"))
            .omapClear()
            .omapSet("new", bytes("2"))) {
      io.operate(object, op);
    }
    assertThat(io.read(object, 0, 10)).isEqualTo(bytes("\0\0\0\0" + "56"));
    assertThat(ceph.rados("-p", ceph.pool(), "-N", NAMESPACE, "listomapkeys", object).strip())
        .isEqualTo("new");
    try (WriteOperation op = new WriteOperation().assertExists().remove()) {
      io.operate(object, op);
    }
    try (WriteOperation op = new WriteOperation().assertExists().writeFull(bytes("1"))) {
      assertThatThrownBy(() -> io.operate(object, op)).isInstanceOf(CephException.NotFound.class);
    }
    try (ReadOperation op = new ReadOperation().assertExists()) {
      assertThatThrownBy(() -> io.operate(object, op)).isInstanceOf(CephException.NotFound.class);
    }
  }

  @Test
  void aReadIsGuardedByAComparison() {
    try (WriteOperation op = new WriteOperation().create().omapSet("k", bytes("1"))) {
      io.operate(object, op);
    }
    try (ReadOperation op = new ReadOperation().omapCompare("k", bytes("1"))) {
      var stat = op.stat();
      io.operate(object, op);
      assertThat(stat.get().size()).isZero();
    }
    try (ReadOperation op = new ReadOperation().omapCompare("k", bytes("2"))) {
      op.stat();
      assertThatThrownBy(() -> io.operate(object, op)).isInstanceOf(CephException.Canceled.class);
    }
  }

  @Test
  void namesThatAreRefusedLeaveNothingOpen() {
    String bad = "a\0b";
    try (IoContext mine = cluster.openPool(ceph.pool(), NAMESPACE);
        WriteOperation write = new WriteOperation().create();
        WriteOperation later = new WriteOperation().create();
        ReadOperation read = new ReadOperation()) {
      List<ThrowingCallable> calls =
          List.of(
              () -> mine.stat(bad),
              () -> mine.read(bad, 0, 1),
              () -> mine.setXattr(object, bad, new byte[1]),
              () -> mine.operate(bad, write),
              () -> mine.operateAsync(bad, later),
              () -> mine.operate(bad, read),
              () -> mine.watch(bad, 0, payload -> {}));
      for (ThrowingCallable call : calls) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class);
      }
    }
  }

  @Test
  void negativeLengthsAreRefusedBeforeTheyReachC() {
    io.writeFull(object, new byte[100]);
    assertThatThrownBy(() -> io.read(object, 0, -1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> io.exec(object, "hello", "say_hello", new byte[0], -1))
        .isInstanceOf(IllegalArgumentException.class);
    try (ReadOperation op = new ReadOperation()) {
      assertThatThrownBy(() -> op.read(0, -1)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void outputThatDoesNotFitIsAnErrorAndNotCut() {
    io.writeFull(object, new byte[0]);
    assertErrno(Errno.ERANGE, () -> io.exec(object, "hello", "say_hello", bytes("everybody"), 5));
    assertThat(io.exec(object, "hello", "say_hello", bytes("you"), 11))
        .isEqualTo(bytes("Hello, you!"));
    assertErrno(Errno.EOPNOTSUPP, () -> io.exec(object, "hello", "absent", bytes(""), 5));
  }

  @Test
  void aContextServesManyThreadsAndClosesBehindThem() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    IoContext mine = cluster.openPool(ceph.pool(), NAMESPACE);
    try {
      List<Future<Integer>> results = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        String name = object + "-" + t;
        results.add(
            threads.submit(
                () -> {
                  int done = 0;
                  try {
                    for (int i = 0; i < 20; i++) {
                      mine.append(name, new byte[] {(byte) i});
                      done++;
                    }
                  } catch (IllegalStateException closed) {
                    assertThat(mine.isClosed()).isTrue();
                  }
                  return done;
                }));
      }
      await().until(() -> !io.objects().isEmpty());
      mine.close();
      for (int t = 0; t < 8; t++) {
        int done = results.get(t).get();
        if (done > 0) {
          assertThat(io.stat(object + "-" + t).size()).isEqualTo(done);
        }
      }
    } finally {
      threads.shutdownNow();
      mine.close();
    }
  }
}
