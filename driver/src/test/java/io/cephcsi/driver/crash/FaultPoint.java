package io.cephcsi.driver.crash;

import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import net.bytebuddy.asm.Advice;

/**
 * Counts the writes of a process, and at one of them halts it or stops it; or, if it is told a
 * folder, kills the processes that serve devices and mounts there and goes on, or lets the thread
 * wait there, while the process still answers other clients of the cluster. Or stops it at that
 * write and at each one after it.
 */
public final class FaultPoint {
  /** The exit code of a process that was halted. */
  public static final int HALTED = 86;

  private static final int SIGSTOP = 19;

  /** The property that says where; see {@link FaultyProgram#option}. Without it nothing ends. */
  static final String PROPERTY = "ceph-csi.fault";

  private static final AtomicInteger COUNT = new AtomicInteger();
  private static volatile boolean before;
  private static volatile boolean stops;
  private static volatile boolean steps;
  private static volatile int fatal = -1;
  private static volatile String thread = "";
  private static volatile String folder = "";
  private static volatile String pause = "";

  /** In that folder, when its processes have been killed. */
  static final String STRUCK = "struck";

  /** Before a folder where the thread that writes is to wait for the file {@link #GO_ON}. */
  static final String PAUSE = "pause:";

  /** In that folder, when the thread may go on. */
  static final String GO_ON = "go-on";

  private static final List<String> SERVERS = List.of("qemu-storage-daemon", "ceph-fuse");

  private FaultPoint() {}

  static {
    String fault = System.getProperty(PROPERTY);
    if (fault != null) {
      arm(fault.split(",", -1));
    }
  }

  private static void arm(String... arguments) {
    before = arguments[0].startsWith("before");
    steps = arguments[0].endsWith("-step");
    stops = steps || arguments[0].endsWith("-stop");
    fatal = Integer.parseInt(arguments[1]);
    thread = arguments[2];
    String place = arguments.length > 3 ? arguments[3] : "";
    boolean pauses = place.startsWith(PAUSE);
    pause = pauses ? place.substring(PAUSE.length()) : "";
    folder = pauses ? "" : place;
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
    if (before && isAt(number)) {
      strike();
    }
    return number;
  }

  /** Ends a write. */
  public static void left(int number) {
    if (!before && isAt(number)) {
      strike();
    }
  }

  private static boolean isAt(int number) {
    return number == fatal || (steps && number > fatal);
  }

  private static void strike() {
    if (!pause.isEmpty()) {
      waitToGoOn();
      return;
    }
    if (stops) {
      stop();
      return;
    }
    if (folder.isEmpty()) {
      Runtime.getRuntime().halt(HALTED);
    }
    ProcessHandle.allProcesses().filter(FaultPoint::serves).forEach(FaultPoint::kill);
    try {
      Files.createFile(Path.of(folder, STRUCK));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns when somebody has the process go on. The signal is of this thread, which takes it at
   * once: of the process, another thread may take it later, and this one would go on meanwhile.
   */
  private static void stop() {
    int code = NativeLibrary.getProcess().getFunction("raise").invokeInt(new Object[] {SIGSTOP});
    if (code != 0) {
      throw new IllegalStateException("raise: " + code);
    }
  }

  private static void waitToGoOn() {
    try {
      Files.createFile(Path.of(pause, STRUCK));
      while (!Files.exists(Path.of(pause, GO_ON))) {
        Thread.sleep(10);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the process ends
    }
  }

  private static boolean serves(ProcessHandle process) {
    try {
      String line = Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
      String program = line.split("\0", -1)[0];
      return SERVERS.stream().anyMatch(program::endsWith) && line.contains(folder + "/");
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  private static void kill(ProcessHandle process) {
    process.destroyForcibly();
    process.onExit().orTimeout(10, TimeUnit.SECONDS).join();
  }
}
