package io.cephcsi.driver.crash;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyWrapper;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.machine.SecretFile;
import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateRequest;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationControllerGrpc;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import io.grpc.Channel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A driver is killed at any moment while it formats, stages, unstages and rotates encrypted
 * volumes, half of the times with the programs that it runs; the others go on. What the KMS has
 * then opens each volume that was answered, with the volume key that it was answered with; and each
 * call is answered by a repetition. 10 kills, 200 with {@code CEPH_CSI_TEST_CAMPAIGN=full}, {@code
 * CEPH_CSI_TEST_KILLS} says otherwise. The header is LUKS2 by the real cryptsetup; the data behind
 * it are not encrypted, as most machines of tests have no device mapper: see {@link PlainMapper}.
 */
class EncryptedKillsIT {
  private static final int KILLS = kills();
  private static final long MIB = 1L << 20;
  private static final int HEADER = 2 << 20; // with the slots 0 and 1
  private static final String STATE = "rbd.csi.ceph.com/encrypted";
  private static final String DEK = "rbd.csi.ceph.com/dek";
  private static final String TEXT = "this must not be lost";
  private static final Pattern KEY = Pattern.compile("MK dump:\\s*([0-9a-f\\s]+)");
  private static final VolumeCapability USE = NodeClient.mounted("ext4", Mode.SINGLE_NODE_WRITER);
  private static final Duration REPEATED = Duration.ofMinutes(5);
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final RadosCluster ADMIN = CLUSTER.connect();
  private static final IoContext IO = ADMIN.openPool(CLUSTER.pool());
  private static final RbdPool POOL = new RbdPool(IO);

  /** What is killed; a volume goes through it in this order, and once more without the first. */
  private enum Call {
    FORMAT,
    ROTATE,
    UNSTAGE,
    STAGE
  }

  private static final List<Call> LIFE =
      List.of(Call.FORMAT, Call.ROTATE, Call.UNSTAGE, Call.STAGE, Call.ROTATE, Call.UNSTAGE);

  @TempDir private Path folder;

  private final ExecutorService work = Executors.newCachedThreadPool();
  private final Map<Call, Long> typical = new EnumMap<>(Call.class);
  private final Map<String, Integer> tally = new TreeMap<>();
  private PlainMapper mapper;
  private KeyWrapper kms;
  private TestDriver requests;
  private DriverSeat seat;
  private ServedProcess process;
  private Volume volume;
  private Optional<String> volumeKey = Optional.empty();

  private static int kills() {
    String given = System.getenv("CEPH_CSI_TEST_KILLS");
    if (given != null) {
      return Integer.parseInt(given);
    }
    return "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 200 : 10;
  }

  @BeforeEach
  void start() throws IOException {
    mapper = new PlainMapper();
    Path file =
        Files.writeString(
            folder.resolve("kms.json"), "{\"meta\": {\"encryptionKMSType\": \"metadata\"}}");
    kms = (KeyWrapper) new KmsConfig(file, Optional.empty(), Map.of()).require("meta");
    requests = TestDriver.rbd(CLUSTER).encrypted(file, "meta").start();
    seat =
        new DriverSeat(
            requests.type(),
            CLUSTER,
            CLUSTER.rbdUser(),
            mapper.starter(),
            "--nodeserver",
            "--nodeid=" + TestDriver.NODE_ID,
            "--node-folder=" + nodeFolder(),
            "--kms-config=" + file);
    process = seat.start();
  }

  @AfterEach
  void stop() throws IOException {
    work.shutdownNow();
    process.close();
    seat.close();
    node(requests.channel()).close();
    mapper.close();
    requests.close();
  }

  @AfterAll
  static void disconnect() {
    IO.close();
    ADMIN.close();
  }

  private Path nodeFolder() {
    return requests.folder().resolve("node");
  }

  @Test
  void whatWasAnsweredOpensAndWhatWasNotIsAnsweredByARepetition() {
    Tries.times(
        1,
        values -> {
          try {
            for (int kills = 0; kills < KILLS; kills += LIFE.size()) {
              live(values, Math.min(LIFE.size(), KILLS - kills));
            }
          } finally {
            System.out.println(KILLS + " kills: " + tally + ", ms of a call " + typical);
          }
        });
  }

  /** With so many kills; it is led to its end in any case. */
  private void live(Tries values, int kills) throws Exception {
    volume = requests.create("kills-" + UUID.randomUUID(), 64 * MIB);
    volumeKey = Optional.empty();
    for (int i = 0; i < LIFE.size(); i++) {
      Call call = LIFE.get(i);
      String before = dek();
      boolean once = i >= kills;
      if (once) {
        repeated(call);
      } else {
        killWithin(call, values);
      }
      requireKey(call + " was answered");
      boolean staged = call != Call.UNSTAGE;
      if (call == Call.FORMAT) {
        assertThat(meta(STATE)).isEqualTo("encrypted");
        Files.writeString(content(), TEXT, StandardOpenOption.CREATE, StandardOpenOption.SYNC);
      } else if (staged) {
        assertThat(content()).hasContent(TEXT);
      }
      if (call == Call.ROTATE) {
        assertThat(open(passphrase(before))).as("by the passphrase before").isEmpty();
      }
    }
    try (NodeClient node = node(seat.controller(process).getChannel())) {
      assertThat(node.leftovers()).isEmpty();
      assertThat(node.files("staging")).isEmpty();
    }
    assertThat(mapper.devices()).isEmpty();
    assertThat(mapper.hadFormatsSideBySide()).isFalse();
    assertThat(SecretFile.folder(nodeFolder()))
        .satisfiesAnyOf(
            left -> assertThat(left).doesNotExist(), left -> assertThat(left).isEmptyDirectory());
    assertThat(CLUSTER.rbd("status", image())).contains("Watchers: none");
    requests.delete(volume.getVolumeId());
  }

  private Path content() {
    return requests
        .folder()
        .resolve("staging")
        .resolve(volume.getVolumeId())
        .resolve(volume.getVolumeId())
        .resolve("file");
  }

  private void killWithin(Call call, Tries values) throws Exception {
    Channel channel = seat.controller(process).getChannel();
    Future<Boolean> running = work.submit(() -> isAnswered(call, channel));
    long most = typical.getOrDefault(call, 1000L) * 6 / 5;
    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(values.between(1, most)));
    boolean all = values.either();
    List<ProcessHandle> programs = programs();
    process.kill();
    if (all) {
      programs.forEach(ProcessHandle::destroyForcibly);
    }
    process.close();
    boolean answered = running.get();
    String outcome =
        answered ? "answered before" : all ? "killed with its programs" : "killed alone";
    if (answered || volumeKey.isPresent()) {
      requireKey("the driver was killed within " + call);
    } else {
      tally.merge(call + " left " + left(), 1, Integer::sum);
    }
    tally.merge(call + " " + outcome, 1, Integer::sum);
    process = seat.start();
    if (call == Call.ROTATE) {
      // The cluster drops the lock of a driver that died after three minutes.
      for (ProcessHandle program : programs) {
        program.onExit().get(1, TimeUnit.MINUTES);
      }
      dropLock();
    }
    repeated(call);
  }

  /** The lock object is not there unless the rotation had got as far as that. */
  private void dropLock() {
    if (CLUSTER.rados("-p", CLUSTER.pool(), "ls").contains(volume.getVolumeId())) {
      CLUSTER.rados("-p", CLUSTER.pool(), "rm", volume.getVolumeId());
    }
  }

  /** What the driver waits for: not what makes a device in the place of the device mapper. */
  private List<ProcessHandle> programs() {
    List<ProcessHandle> programs = new ArrayList<>();
    ProcessHandle.of(process.pid()).stream()
        .flatMap(ProcessHandle::descendants)
        .filter(
            one ->
                one.info()
                    .command()
                    .filter(program -> program.matches(".*/(cryptsetup|mke2fs|e2fsck)"))
                    .isPresent())
        .forEach(programs::add);
    return programs;
  }

  private NodeClient node(Channel channel) {
    return new NodeClient(channel, requests.secrets(), requests.folder());
  }

  private boolean isAnswered(Call call, Channel channel) {
    try {
      send(call, channel);
      return true;
    } catch (StatusRuntimeException e) {
      assertThat(e.getStatus().getCode()).as(e.getMessage()).isEqualTo(Code.UNAVAILABLE);
      return false;
    }
  }

  @SuppressWarnings("CheckReturnValue")
  private void send(Call call, Channel channel) {
    // Not closed, which would take away what is on the node.
    NodeClient node = node(channel);
    switch (call) {
      case FORMAT, STAGE -> node.stage(volume, USE);
      case UNSTAGE -> node.unstage(volume);
      case ROTATE ->
          EncryptionKeyRotationControllerGrpc.newBlockingStub(channel)
              .encryptionKeyRotate(
                  EncryptionKeyRotateRequest.newBuilder()
                      .setVolumeId(volume.getVolumeId())
                      .putAllSecrets(requests.secrets())
                      .build());
    }
  }

  private void repeated(Call call) {
    Channel channel = seat.controller(process).getChannel();
    long begun = System.nanoTime();
    Set<Code> passing = EnumSet.of(Code.ABORTED, Code.UNAVAILABLE);
    while (true) {
      long sent = System.nanoTime();
      try {
        send(call, channel);
        typical.merge(
            call,
            TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sent),
            (one, other) -> (3 * one + other) / 4);
        return;
      } catch (StatusRuntimeException e) {
        if (!passing.contains(e.getStatus().getCode())
            || System.nanoTime() - begun > REPEATED.toNanos()) {
          throw new AssertionError(call + " is not answered: " + process.output(), e);
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
      }
    }
  }

  /** What the KMS has opens the volume, with the volume key that it had before. */
  private void requireKey(String when) throws Exception {
    Optional<String> key = open(passphrase(dek()));
    assertThat(key).as("opened when " + when).isPresent();
    assertThat(volumeKey.or(() -> key)).as("volume key when " + when).isEqualTo(key);
    volumeKey = key;
  }

  /** What a first staging left that was not answered. */
  private String left() throws Exception {
    boolean noted = !meta("ceph-csi-java.formatting").isEmpty();
    String header = new String(start(4), ISO_8859_1);
    return meta(STATE)
        + (noted ? ", a note" : "")
        + (header.equals("LUKS") ? ", a header" : "")
        + (open(passphrase(dek())).isPresent() ? " that opens" : "");
  }

  private String dek() {
    return meta(DEK);
  }

  private String meta(String key) {
    try (RbdImage image = POOL.openReadOnly(TestDriver.image(volume))) {
      return image.metadata().get(key).orElse("");
    }
  }

  private byte[] start(int length) {
    try (RbdImage image = POOL.openReadOnly(TestDriver.image(volume))) {
      return image.read(0, length);
    }
  }

  private String image() {
    return CLUSTER.pool() + "/" + TestDriver.image(volume);
  }

  private Passphrase passphrase(String dek) {
    return kms.unwrap(
        new KeyOwner(volume.getVolumeId(), Optional.empty(), new HashMap<>(requests.secrets())),
        dek);
  }

  /** The volume key by a passphrase; empty when it does not open the header. */
  private Optional<String> open(Passphrase passphrase) throws Exception {
    Path header = folder.resolve("header");
    Files.write(header, start(HEADER));
    try (RandomAccessFile file = new RandomAccessFile(header.toFile(), "rw")) {
      file.setLength(64 * MIB);
    }
    Process dump =
        new ProcessBuilder(
                "/usr/sbin/cryptsetup",
                "luksDump",
                "--dump-volume-key",
                "--batch-mode",
                "--key-file=-",
                header.toString())
            .redirectErrorStream(true)
            .start();
    try (var input = dump.getOutputStream()) {
      input.write(passphrase.bytes());
    } catch (IOException e) {
      // It found no header, and did not ask.
    }
    String said = new String(dump.getInputStream().readAllBytes(), UTF_8);
    assertThat(dump.waitFor(1, TimeUnit.MINUTES)).isTrue();
    Matcher key = KEY.matcher(said);
    assertThat(key.find()).as(said).isEqualTo(dump.exitValue() == 0);
    return dump.exitValue() == 0 ? Optional.of(key.group(1)) : Optional.empty();
  }

  /** Of two, the one that ends last would take the key from the other. */
  @Test
  void aFormatThatADeadDriverLeftBehindEndsBeforeAnotherBegins() throws Exception {
    volume = requests.create("left-" + UUID.randomUUID(), 64 * MIB);
    mapper.slow(true);
    Channel channel = seat.controller(process).getChannel();
    Future<Boolean> running = work.submit(() -> isAnswered(Call.FORMAT, channel));
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    List<ProcessHandle> left = List.of();
    while (left.isEmpty() && System.nanoTime() < end) {
      left = programs().stream().filter(one -> line(one).contains("\0luksFormat\0")).toList();
    }
    assertThat(left).hasSize(1);
    ProcessHandle orphan = left.get(0);
    signal("-STOP", orphan);
    process.kill();
    process.close();
    assertThat(running.get()).isFalse();
    process = seat.start();
    seat.awaitReady(process);
    Future<Boolean> again =
        work.submit(
            () -> {
              repeated(Call.FORMAT);
              return true;
            });
    LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(3));
    assertThat(again.isDone()).isFalse();
    signal("-CONT", orphan);
    assertThat(again.get(2, TimeUnit.MINUTES)).isTrue();
    assertThat(mapper.hadFormatsSideBySide()).isFalse();
    requireKey("it was answered");
    repeated(Call.UNSTAGE);
    requests.delete(volume.getVolumeId());
  }

  private static String line(ProcessHandle of) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(of.pid()), "cmdline"));
    } catch (IOException e) {
      return "";
    }
  }

  private static void signal(String name, ProcessHandle to) throws Exception {
    assertThat(new ProcessBuilder("kill", name, Long.toString(to.pid())).start().waitFor())
        .isZero();
  }
}
