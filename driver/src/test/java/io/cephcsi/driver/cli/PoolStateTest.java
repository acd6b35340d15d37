package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.cli.PoolOutcome.Kind;
import io.cephcsi.driver.reclaim.Discarded;
import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.TrimReport;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PoolStateTest {
  private static final Map<String, String> RUN = Map.of("cluster", "c", "pool", "p", "--top", "");
  private static final ImageEstimate A = PoolStates.image("a", 100);
  private static final ImageEstimate EVIL =
      new ImageEstimate(
          "e1",
          "evil\n\"\u202e\u001b[31m",
          new TrimReport("in_use", "by \u0000 nobody", "", Discarded.NOTHING, Optional.empty()));

  @TempDir Path folder;

  private Path file() {
    return folder.resolve("state");
  }

  private PoolState open() {
    return PoolState.open(Optional.of(file()), RUN);
  }

  private static PoolOutcome outcome(Kind kind, long bytes) {
    return new PoolOutcome(kind, "why\n", bytes, bytes / 4, bytes, 1);
  }

  @Test
  void whatWasRecordedIsThereAfterTheProcessEndedAtAnyMoment() throws IOException {
    try (PoolState state = open()) {
      state.add(A);
      state.add(EVIL);
      state.estimated();
      state.record(A, outcome(Kind.GAVE_WAY, 40));
      // As a process that is killed leaves it: nobody closes the state.
      Files.writeString(folder.resolve("state.new"), "half of", UTF_8);
      Path copy = Files.copy(file(), folder.resolve("copy"));
      try (PoolState next = PoolState.open(Optional.of(copy), RUN)) {
        assertThat(next.isEstimated()).isTrue();
        assertThat(next.estimates()).containsExactly(A, EVIL);
        assertThat(next.knows(A.id())).isTrue();
        assertThat(next.outcome(A)).contains(outcome(Kind.GAVE_WAY, 40));
        assertThat(next.outcome(EVIL)).isEmpty();
        assertThat(next.discardedBytes()).isEqualTo(40);
        next.record(A, outcome(Kind.DONE, 60));
        assertThat(next.outcome(A).orElseThrow().discardedBytes()).isEqualTo(100);
        assertThat(next.outcome(A).orElseThrow().isLast()).isTrue();
      }
    }
    assertThat(Files.getPosixFilePermissions(file()))
        .isEqualTo(PosixFilePermissions.fromString("rw-------"));
  }

  @Test
  void anEstimateThatWasInterruptedKeepsWhatItKnew() {
    try (PoolState state = open()) {
      state.add(A);
      state.save();
    }
    try (PoolState state = open()) {
      assertThat(state.isEstimated()).isFalse();
      assertThat(state.knows(A.id())).isTrue();
    }
  }

  @Test
  void whatWasInUseOrUnreadableIsLookedAtAgain() {
    ImageEstimate unreadable =
        new ImageEstimate(
            "u", "u", new TrimReport("unreadable", "", "", Discarded.NOTHING, Optional.empty()));
    try (PoolState state = open()) {
      state.add(A);
      assertThat(state.isToBeEstimated()).isTrue();
      state.estimated();
      assertThat(state.isToBeEstimated()).isFalse();
      for (ImageEstimate image : List.of(EVIL, unreadable)) {
        state.add(image);
        assertThat(state.knows(image.id())).isFalse();
        assertThat(state.isToBeEstimated()).isTrue();
        state.add(new ImageEstimate(image.id(), image.name(), A.trim()));
        assertThat(state.knows(image.id())).isTrue();
        assertThat(state.isToBeEstimated()).isFalse();
      }
      assertThat(state.knows("made since")).isTrue();
    }
  }

  @Test
  void imagesWithoutAnIdAreToldApartByTheirNames() {
    ImageEstimate one = new ImageEstimate("", "one", EVIL.trim());
    ImageEstimate other = new ImageEstimate("", "other", EVIL.trim());
    try (PoolState state = open()) {
      state.add(one);
      state.add(other);
      state.add(one);
      assertThat(state.estimates()).containsExactly(one, other);
    }
  }

  @Test
  void withoutAFileNothingIsWritten() throws IOException {
    try (PoolState state = PoolState.open(Optional.empty(), RUN)) {
      state.add(A);
      state.record(A, outcome(Kind.DONE, 1));
      assertThat(state.outcome(A)).isPresent();
    }
    try (var files = Files.list(folder)) {
      assertThat(files).isEmpty();
    }
  }

  @Test
  void theStateOfAnotherRunIsRefusedWithTheDifference() {
    try (PoolState state = open()) {
      state.estimated();
    }
    Map<String, String> other = Map.of("cluster", "c", "pool", "p", "--top", "5");
    assertThatThrownBy(() -> PoolState.open(Optional.of(file()), other))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("--top was \"\" there and is \"5\" here");
    Map<String, String> elsewhere = Map.of("cluster", "d", "pool", "p", "--top", "");
    assertThatThrownBy(() -> PoolState.open(Optional.of(file()), elsewhere))
        .hasMessageContaining("cluster was \"c\" there and is \"d\" here");
    open().close(); // a refusal leaves no lock behind
  }

  @Test
  void twoRunsDoNotShareAFile() {
    try (PoolState state = open()) {
      state.estimated();
      assertThatThrownBy(this::open)
          .isInstanceOf(ConfigException.class)
          .hasMessageContaining("in use by another run");
    }
    open().close();
  }

  @Test
  void aFolderThatCannotBeWrittenIsNamed() {
    Path nowhere = folder.resolve("no/such/folder");
    assertThatThrownBy(() -> PoolState.open(Optional.of(nowhere), RUN))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(nowhere.toString());
  }

  private void assertRefused(byte[] content, String why) throws IOException {
    Files.write(file(), content);
    assertThatThrownBy(this::open)
        .as("%s", why)
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("is not the state of a run")
        .hasMessageContaining("remove it to begin anew");
    assertThat(Files.readAllBytes(file())).isEqualTo(content);
  }

  private byte[] changed(Consumer<ObjectNode> change) throws IOException {
    Files.deleteIfExists(file());
    try (PoolState state = open()) {
      state.add(A);
      state.estimated();
      state.record(A, outcome(Kind.DONE, 7));
    }
    ObjectNode root = (ObjectNode) PoolStates.JSON.readTree(file().toFile());
    change.accept(root);
    return PoolStates.JSON.writeValueAsBytes(root);
  }

  @Test
  void aDamagedStateIsRefusedAndLeftAsItIs() throws IOException {
    assertRefused(new byte[0], "empty");
    assertRefused("hello".getBytes(UTF_8), "text");
    assertRefused("[]".getBytes(UTF_8), "array");
    List<Consumer<ObjectNode>> changes = new ArrayList<>();
    changes.add(root -> root.put("format", "ceph-csi reclaim --pool 2"));
    changes.add(root -> root.remove("format"));
    changes.add(root -> root.put("estimated", "true"));
    changes.add(root -> root.put("images", 1));
    changes.add(root -> root.withArray("images").add(PoolStates.first(root).deepCopy()));
    changes.add(root -> PoolStates.first(root).put("bytes", -1));
    changes.add(root -> PoolStates.first(root).put("bytes", 1.5));
    changes.add(root -> PoolStates.first(root).put("bytes", new BigInteger("9".repeat(30))));
    changes.add(root -> PoolStates.first(root).put("name", 1));
    changes.add(root -> PoolStates.first(root).putObject("outcome").put("kind", "perfect"));
    for (Consumer<ObjectNode> change : changes) {
      assertRefused(changed(change), "change " + changes.indexOf(change));
    }
  }

  @Test
  void noTruncationOfAStateIsTakenForAState() throws IOException {
    byte[] whole = changed(root -> {});
    JsonNode same = PoolStates.JSON.readTree(whole);
    Random random = new Random(3);
    for (int i = 0; i < 200; i++) {
      int length = random.nextInt(whole.length - 1);
      byte[] part = Arrays.copyOf(whole, length);
      assertRefused(part, "cut at " + length);
    }
    Files.write(file(), whole);
    try (PoolState state = open()) {
      assertThat(state.estimates()).hasSize(same.path("images").size());
    }
  }
}
