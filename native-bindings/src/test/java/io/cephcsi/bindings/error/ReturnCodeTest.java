package io.cephcsi.bindings.error;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.ceph.rados.exceptions.ErrorCode;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReturnCodeTest {
  private static final Map<Errno, Class<? extends CephException>> TYPES =
      new EnumMap<>(
          Map.of(
              Errno.ENOENT, CephException.NotFound.class,
              Errno.EEXIST, CephException.AlreadyExists.class,
              Errno.EACCES, CephException.Denied.class,
              Errno.EPERM, CephException.Denied.class,
              Errno.ETIMEDOUT, CephException.TimedOut.class,
              Errno.ESHUTDOWN, CephException.Blocklisted.class,
              Errno.EBUSY, CephException.Busy.class,
              Errno.EFBIG, CephException.TooLarge.class,
              Errno.ECANCELED, CephException.Canceled.class));

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "UNKNOWN")
  void everyErrnoBecomesTheExceptionOfItsKind(Errno errno) {
    CephException thrown =
        catchThrowableOfType(
            CephException.class, () -> ReturnCode.check(-errno.number(), "rados_call", "object"));
    assertThat(thrown).isExactlyInstanceOf(TYPES.getOrDefault(errno, CephException.class));
    assertThat(thrown.errno()).isEqualTo(errno);
    assertThat(thrown.code()).isEqualTo(-errno.number());
    assertThat(thrown.operation()).isEqualTo("rados_call");
    assertThat(thrown.object()).isEqualTo("object");
    assertThat(thrown).hasMessage("rados_call object: " + errno.name());

    CephException wide =
        catchThrowableOfType(
            CephException.class, () -> ReturnCode.check((long) -errno.number(), "call", ""));
    assertThat(wide).hasSameClassAs(thrown).hasMessage("call: " + errno.name());
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "UNKNOWN")
  void everyNumberIsThatOfTheSystem(Errno errno) {
    // rados-java keeps a list of its own.
    assertThat(ErrorCode.valueOf(errno.name()).getErrorCode()).isEqualTo(-errno.number());
    assertThat(Errno.of(errno.number())).isSameAs(errno);
    assertThat(Errno.of(-errno.number())).isSameAs(errno);
  }

  @Test
  void noNumberStandsTwice() {
    Set<Integer> numbers = new HashSet<>();
    for (Errno errno : Errno.values()) {
      assertThat(numbers.add(errno.number())).as(errno.name()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {-4095, -3, Integer.MIN_VALUE})
  void aNumberThatIsNotInTheListIsKept(int code) {
    assertThat(Errno.of(code)).isSameAs(Errno.UNKNOWN);
    assertThatThrownBy(() -> ReturnCode.check(code, "rbd_call", "rbd/image"))
        .isExactlyInstanceOf(CephException.class)
        .hasMessage("rbd_call rbd/image: error " + code);
  }

  @Test
  void resultsAreHandedThrough() {
    assertThat(ReturnCode.check(0, "call", "")).isZero();
    assertThat(ReturnCode.check(Integer.MAX_VALUE, "call", "")).isEqualTo(Integer.MAX_VALUE);
    assertThat(ReturnCode.check(1L << 40, "call", "")).isEqualTo(1L << 40);
    assertThat(ReturnCode.check(2L, "call", "")).isEqualTo(2);
  }

  @Test
  void theMessageNamesOperationObjectErrorAndDetail() {
    assertThat(ReturnCode.exception(-2, "rados_mon_command", "osd pool get", "no pool 'x'"))
        .isExactlyInstanceOf(CephException.NotFound.class)
        .hasMessage("rados_mon_command osd pool get: ENOENT (no pool 'x')");
  }
}
