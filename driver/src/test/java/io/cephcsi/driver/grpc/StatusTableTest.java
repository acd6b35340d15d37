package io.cephcsi.driver.grpc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.grpc.Status;
import io.grpc.Status.Code;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class StatusTableTest {
  private static final Map<Errno, Code> CODES =
      new EnumMap<>(
          Map.of(
              Errno.EACCES, Code.PERMISSION_DENIED,
              Errno.EPERM, Code.PERMISSION_DENIED,
              Errno.ENOENT, Code.NOT_FOUND,
              Errno.EEXIST, Code.ALREADY_EXISTS,
              Errno.ENOSPC, Code.RESOURCE_EXHAUSTED,
              Errno.EDQUOT, Code.RESOURCE_EXHAUSTED,
              Errno.ESHUTDOWN, Code.UNAVAILABLE,
              Errno.ETIMEDOUT, Code.DEADLINE_EXCEEDED,
              Errno.EBUSY, Code.FAILED_PRECONDITION,
              Errno.EBADMSG, Code.FAILED_PRECONDITION));

  static {
    CODES.put(Errno.EFBIG, Code.FAILED_PRECONDITION);
    CODES.put(Errno.EUCLEAN, Code.FAILED_PRECONDITION);
  }

  @ParameterizedTest
  @EnumSource(Reason.class)
  void eachReasonIsTheCodeOfItsName(Reason reason) {
    Status status =
        StatusTable.statusOf(new VolumeException(reason, "why"), Family.CSI).getStatus();
    assertThat(status.getCode()).isEqualTo(Code.valueOf(reason.name()));
    assertThat(status.getDescription()).isEqualTo("why");
  }

  @ParameterizedTest
  @EnumSource(Errno.class)
  void eachErrnoHasItsCodeAndNamesOperationAndObject(Errno errno) {
    for (Family family : EnumSet.allOf(Family.class)) {
      int number = errno == Errno.UNKNOWN ? 4711 : errno.number();
      CephException error = ReturnCode.exception(-number, "rbd_open", "rbd/csi-vol-1", "detail");
      Status status = StatusTable.statusOf(error, family).getStatus();
      Code expected = CODES.getOrDefault(errno, Code.INTERNAL);
      if (family == Family.CSI_ADDONS && expected == Code.PERMISSION_DENIED) {
        expected = Code.UNAUTHENTICATED;
      }
      assertThat(status.getCode()).isEqualTo(expected).isNotIn(Code.UNKNOWN, Code.OK);
      assertThat(status.getDescription())
          .contains("rbd_open", "rbd/csi-vol-1", "detail")
          .contains(errno == Errno.UNKNOWN ? "4711" : errno.name());
    }
  }

  @Test
  void aClientThatKeepsALockIsNoClusterThatDoesNotAnswer() {
    assertThat(
            codeOf(
                new CephException.OwnerSilent(
                    "rbd_snap_create2", "rbd/csi-vol-1@s", -Errno.ETIMEDOUT.number(), "why")))
        .isEqualTo(Code.ABORTED);
  }

  @Test
  void anErrorOfAStageIsUnwrapped() {
    VolumeException error = VolumeException.notFound("gone");
    assertThat(codeOf(new CompletionException(error))).isEqualTo(Code.NOT_FOUND);
    assertThat(codeOf(new CompletionException(new CompletionException(error))))
        .isEqualTo(Code.NOT_FOUND);
  }

  @Test
  void aStatusStaysWhatItIs() {
    assertThat(codeOf(Status.DATA_LOSS.asRuntimeException())).isEqualTo(Code.DATA_LOSS);
  }

  @Test
  void workThatIsNotTakenIsUnavailableAndNotABug() {
    assertThat(codeOf(new RejectedExecutionException("queue full"))).isEqualTo(Code.UNAVAILABLE);
    assertThat(codeOf(new CompletionException(new RejectedExecutionException())))
        .isEqualTo(Code.UNAVAILABLE);
  }

  @Test
  void whatNobodyThoughtOfIsInternalWithoutAStackTrace() {
    Status status =
        StatusTable.statusOf(new IllegalStateException("damaged"), Family.CSI).getStatus();
    assertThat(status.getCode()).isEqualTo(Code.INTERNAL);
    assertThat(status.getDescription())
        .contains("IllegalStateException", "damaged")
        .doesNotContain("\tat ");
    assertThat(status.getCause()).isNull();
  }

  private static Code codeOf(Throwable error) {
    return StatusTable.statusOf(error, Family.CSI).getStatus().getCode();
  }

  @Test
  void anErrorOfMemoryIsOneOfTheCall() {
    assertThat(codeOf(new OutOfMemoryError("heap"))).isEqualTo(Code.RESOURCE_EXHAUSTED);
    assertThat(codeOf(new CompletionException(new StackOverflowError())))
        .isEqualTo(Code.RESOURCE_EXHAUSTED);
  }

  @Test
  void aDescriptionIsShownOnOneLineAndFitsIntoAHeader() {
    assertThat(shown("a\nb\u001b[2K")).isEqualTo("a\\nb\\u001b[2K");
    assertThat(shown("x".repeat(9000))).hasSize(2048).endsWith("...");
    assertThat(shown("名".repeat(9000)).getBytes(UTF_8).length * 3).isLessThan(8192);
    assertThat(shown("user AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg== is unknown"))
        .isEqualTo("user ***stripped*** is unknown");
    assertThat(StatusTable.shown(Status.OK)).isSameAs(Status.OK);
  }

  private static String shown(String description) {
    return String.valueOf(
        StatusTable.shown(Status.INTERNAL.withDescription(description)).getDescription());
  }
}
