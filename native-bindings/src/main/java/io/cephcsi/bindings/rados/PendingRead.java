package io.cephcsi.bindings.rados;

/**
 * A compound read on its way ({@code rados_aio_read_op_operate}). It owns the operation: closing it
 * waits for the cluster's answer, and closes that. Used by one thread.
 */
public final class PendingRead implements AutoCloseable {
  private final ReadOperation operation;
  private final Completion completion;
  private final String object;
  private boolean closed;

  PendingRead(ReadOperation operation, Completion completion, String object) {
    this.operation = operation;
    this.completion = completion;
    this.object = object;
  }

  /**
   * Waits for the cluster's answer; then the results of the steps can be asked.
   *
   * @return the version of the object
   * @throws io.cephcsi.bindings.error.CephException.NotFound if the object does not exist
   * @throws StaleVersionException if the version asserted is not the object's
   */
  public long await() {
    completion.await();
    operation.completed(0, object);
    return completion.version();
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      completion.close();
      operation.exit();
      operation.close();
    }
  }
}
