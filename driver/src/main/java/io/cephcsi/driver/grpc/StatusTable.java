package io.cephcsi.driver.grpc;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one table from errors to gRPC status codes. */
public final class StatusTable {
  private static final Logger LOG = LoggerFactory.getLogger(StatusTable.class);

  private static final int ASCII_LIMIT = 2048;
  private static final int LIMIT = 512;

  private StatusTable() {}

  /** Which specification's error table a service follows. */
  public enum Family {
    /** CSI: a user without the permission is PERMISSION_DENIED. */
    CSI,
    /** CSI-Addons: its tables know UNAUTHENTICATED only. */
    CSI_ADDONS
  }

  /** The status for whatever went wrong; its description is for the user and has no stack trace. */
  public static StatusRuntimeException statusOf(Throwable thrown, Family family) {
    Throwable error = thrown;
    while (error instanceof CompletionException && error.getCause() != null) {
      error = error.getCause();
    }
    if (error instanceof StatusRuntimeException status) {
      return status;
    }
    if (error instanceof VolumeException e) {
      return status(code(e.reason()), e.getMessage());
    }
    if (error instanceof CephException e) {
      return status(code(e, family), e.getMessage());
    }
    if (error instanceof RejectedExecutionException) {
      return status(
          Status.Code.UNAVAILABLE,
          "too many calls wait for this cluster, or the driver is stopping; try again later");
    }
    if (error instanceof CommandException e) {
      return status(
          e.timedOut() ? Status.Code.DEADLINE_EXCEEDED : Status.Code.INTERNAL, e.getMessage());
    }
    LOG.error("unexpected failure", error);
    if (error instanceof OutOfMemoryError || error instanceof StackOverflowError) {
      return status(Status.Code.RESOURCE_EXHAUSTED, "the driver has no memory for this call");
    }
    return status(
        Status.Code.INTERNAL,
        "unexpected " + error.getClass().getSimpleName() + ": " + error.getMessage());
  }

  /**
   * A status as it may leave the process: its description is on one line, has no key and fits into
   * a header, which clients refuse when all have more than 8 KiB.
   */
  static Status shown(Status status) {
    String description = status.getDescription();
    if (description == null) {
      return status;
    }
    // A character that is not ASCII takes up to nine bytes in a header.
    boolean ascii = description.chars().allMatch(c -> c < 0x80);
    return status.withDescription(
        PlainText.escape(KeyMaterial.hide(description), ascii ? ASCII_LIMIT : LIMIT));
  }

  /** A failed call for a person to read: code and description. */
  public static String show(StatusRuntimeException failure) {
    String description = failure.getStatus().getDescription();
    return failure.getStatus().getCode()
        + (description == null ? "" : ": " + PlainText.escape(KeyMaterial.hide(description)));
  }

  private static StatusRuntimeException status(Status.Code code, @Nullable String description) {
    return Status.fromCode(code).withDescription(description).asRuntimeException();
  }

  private static Status.Code code(VolumeException.Reason reason) {
    return switch (reason) {
      case INVALID_ARGUMENT -> Status.Code.INVALID_ARGUMENT;
      case NOT_FOUND -> Status.Code.NOT_FOUND;
      case ALREADY_EXISTS -> Status.Code.ALREADY_EXISTS;
      case ABORTED -> Status.Code.ABORTED;
      case FAILED_PRECONDITION -> Status.Code.FAILED_PRECONDITION;
      case OUT_OF_RANGE -> Status.Code.OUT_OF_RANGE;
      case RESOURCE_EXHAUSTED -> Status.Code.RESOURCE_EXHAUSTED;
      case UNAUTHENTICATED -> Status.Code.UNAUTHENTICATED;
      case DEADLINE_EXCEEDED -> Status.Code.DEADLINE_EXCEEDED;
      case UNAVAILABLE -> Status.Code.UNAVAILABLE;
      case UNIMPLEMENTED -> Status.Code.UNIMPLEMENTED;
    };
  }

  private static Status.Code code(CephException e, Family family) {
    if (e instanceof CephException.OwnerSilent) {
      return Status.Code.ABORTED;
    }
    return switch (e.errno()) {
      case EACCES, EPERM ->
          family == Family.CSI_ADDONS ? Status.Code.UNAUTHENTICATED : Status.Code.PERMISSION_DENIED;
      case ENOENT -> Status.Code.NOT_FOUND;
      case EEXIST -> Status.Code.ALREADY_EXISTS;
      case ENOSPC, EDQUOT -> Status.Code.RESOURCE_EXHAUSTED;
      case ESHUTDOWN -> Status.Code.UNAVAILABLE;
      case ETIMEDOUT -> Status.Code.DEADLINE_EXCEEDED;
      case EBUSY, EBADMSG, EFBIG, EUCLEAN -> Status.Code.FAILED_PRECONDITION;
      default -> Status.Code.INTERNAL;
    };
  }
}
