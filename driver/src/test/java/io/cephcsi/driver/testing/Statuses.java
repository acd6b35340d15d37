package io.cephcsi.driver.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;

/** Assertions on the status of calls. */
public final class Statuses {
  private Statuses() {}

  /** The call fails with a code, and says why. */
  public static void assertStatus(Status.Code code, ThrowingCallable call) {
    assertStatus(code, "", call);
  }

  /** The call fails with a code and a description that contains a text. */
  public static void assertStatus(Status.Code code, String text, ThrowingCallable call) {
    assertStatus(code, description -> assertThat(description).contains(text), call);
  }

  /** The call fails with a code and a description that satisfies a condition. */
  public static void assertStatus(
      Status.Code code, Consumer<String> description, ThrowingCallable call) {
    StatusRuntimeException failure = catchThrowableOfType(StatusRuntimeException.class, call);
    assertThat(failure).as("the call should fail with " + code).isNotNull();
    assertThat(failure.getStatus().getCode())
        .as(failure.getStatus().getDescription())
        .isEqualTo(code);
    assertThat(failure.getStatus().getDescription()).isNotBlank().doesNotContain("\tat ");
    description.accept(failure.getStatus().getDescription());
  }

  /** Repeats a call as long as it is ABORTED, but not for longer than a time. */
  public static <T> T untilNotAborted(Duration atMost, Supplier<T> call) {
    return Awaitility.await()
        .atMost(atMost)
        .ignoreExceptionsMatching(
            e ->
                e instanceof StatusRuntimeException failure
                    && failure.getStatus().getCode() == Status.Code.ABORTED)
        .until(call::get, answer -> true);
  }
}
