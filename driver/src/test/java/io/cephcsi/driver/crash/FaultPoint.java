package io.cephcsi.driver.crash;

import java.util.concurrent.atomic.AtomicInteger;
import net.bytebuddy.asm.Advice;

/** Counts the writes of a process and halts it at one of them. */
public final class FaultPoint {
  /** The exit code of a process that was halted. */
  public static final int HALTED = 86;

  private static final AtomicInteger COUNT = new AtomicInteger();
  private static volatile boolean before;
  private static volatile int fatal;
  private static volatile String thread = "";

  private FaultPoint() {}

  static void arm(String... arguments) {
    before = arguments[0].equals("before");
    fatal = Integer.parseInt(arguments[1]);
    thread = arguments[2];
  }

  /** Inlined at the begin of a write. */
  @Advice.OnMethodEnter
  public static int enter() {
    return reached();
  }

  /** Inlined at the end of a write. */
  @Advice.OnMethodExit(onThrowable = Throwable.class)
  public static void exit(@Advice.Enter int number) {
    left(number);
  }

  /** Counts a write. */
  public static int reached() {
    if (!Thread.currentThread().getName().startsWith(thread)) {
      return 0;
    }
    int number = COUNT.incrementAndGet();
    if (before && number == fatal) {
      Runtime.getRuntime().halt(HALTED);
    }
    return number;
  }

  /** Ends a write. */
  public static void left(int number) {
    if (!before && number == fatal) {
      Runtime.getRuntime().halt(HALTED);
    }
  }
}
