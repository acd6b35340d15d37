package io.cephcsi.driver.cluster;

import java.util.concurrent.ThreadFactory;

/** Threads that do not keep the process alive: a native call may never return. */
public final class DaemonThreads {
  private DaemonThreads() {}

  /** Makes daemon threads of one name, for an executor. */
  public static ThreadFactory named(String name) {
    return task -> of(name, task);
  }

  /** A daemon thread that is not started. */
  public static Thread of(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}
