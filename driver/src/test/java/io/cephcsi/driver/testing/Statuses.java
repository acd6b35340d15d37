package io.cephcsi.driver.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

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
}
