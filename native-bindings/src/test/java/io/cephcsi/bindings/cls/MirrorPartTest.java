package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.MirrorPart.Kind;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import java.time.Instant;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MirrorPartTest {
  private static final int MIRROR = 3;

  private static ClassCall content() {
    return ClassCall.content();
  }

  private static ClassCall kind(int state, int complete, String primary, long snapshot) {
    return content()
        .u32(MIRROR)
        .u8(state)
        .u8(complete)
        .u32(1)
        .string("peer")
        .string(primary)
        .u64(snapshot)
        .u64(0)
        .u32(0);
  }

  private static byte[] info(ClassCall kind) {
    return content()
        .structure(
            1,
            1,
            content()
                .u64(7)
                .structure(1, 1, kind)
                .string("snap")
                .u64(1 << 20)
                .time(Instant.EPOCH)
                .u32(0))
        .input();
  }

  private static byte[] stored(ClassCall... kinds) {
    ClassCall stored = content().u64(7).string("snap").u64(1 << 20).u64(0).u8(0).u64(3);
    for (ClassCall kind : kinds) {
      stored.structure(1, 1, kind);
    }
    return content().structure(8, 1, stored.time(Instant.EPOCH).u32(0)).input();
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, '', 0, PRIMARY, false, false",
    "1, 1, '', 0, DEMOTED, false, false",
    "2, 0, uuid, 5, COPY, false, true",
    "2, 1, uuid, 5, COPY, false, false",
    "2, 1, '', -2, COPY, true, false",
    "3, 0, uuid, 5, DEMOTED_COPY, false, true",
    "3, 1, '', -2, DEMOTED_COPY, false, false",
    "4, 0, uuid, 5, OTHER, false, false",
    "255, 0, uuid, 5, OTHER, false, false"
  })
  void whatASnapshotIsOfIsRead(
      int state,
      int complete,
      String primary,
      long snapshot,
      Kind kind,
      boolean orphan,
      boolean half) {
    MirrorPart part =
        ImageHeader.snapshot(info(kind(state, complete, primary, snapshot))).mirror().orElseThrow();
    assertThat(part.kind()).isEqualTo(kind);
    assertThat(part.orphan()).isEqualTo(orphan);
    assertThat(part.half()).isEqualTo(half);
  }

  @Test
  void theStateIsFoundInWhatIsStored() {
    ClassCall demotion = kind(3, 0, "uuid", 5);
    byte[] stored = stored(demotion);
    int state = MirrorPart.stateOffset(info(demotion), stored).orElseThrow();
    byte[] expected = stored(kind(2, 0, "uuid", 5));
    assertThat(stored).isNotEqualTo(expected);
    stored[state] = 2;
    assertThat(stored).isEqualTo(expected);
  }

  @Test
  void whatIsNotCertainIsNotFound() {
    ClassCall demotion = kind(3, 0, "uuid", 5);
    byte[] info = info(demotion);
    assertThat(MirrorPart.stateOffset(info, stored(demotion, demotion))).isEmpty();
    assertThat(MirrorPart.stateOffset(info, stored(kind(3, 0, "uuid", 6)))).isEmpty();
    assertThat(MirrorPart.stateOffset(info, stored())).isEmpty();
    assertThat(MirrorPart.stateOffset(info, new byte[0])).isEmpty();
    assertThatThrownBy(() -> MirrorPart.stateOffset(Arrays.copyOf(info, 20), stored(demotion)))
        .isInstanceOf(CephException.class)
        .hasMessageContaining("damaged");
  }
}
