package io.cephcsi.driver.testing;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.time.Duration;
import java.util.Arrays;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs test classes where there is no Maven, such as in a virtual machine: a line for each test,
 * and exit code 0 when there was one and none failed.
 */
public final class InMachine {
  private InMachine() {}

  /**
   * Runs the classes.
   *
   * @param args names of classes, or class#method
   */
  public static void main(String[] args) {
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .filters(EngineFilter.includeEngines("junit-jupiter"))
            .selectors(Arrays.stream(args).map(InMachine::selector).toList())
            .build();
    Launcher launcher = LauncherFactory.create();
    Report report = new Report();
    launcher.execute(request, report);
    System.out.println(report.passed + " passed, " + report.failed + " failed");
    System.exit(report.failed == 0 && report.passed > 0 ? 0 : 1);
  }

  private static DiscoverySelector selector(String arg) {
    return arg.contains("#") ? selectMethod(arg) : selectClass(arg);
  }

  private static final class Report implements TestExecutionListener {
    private int passed;
    private int failed;
    private long begun;

    @Override
    public void executionStarted(TestIdentifier test) {
      begun = System.nanoTime();
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
      boolean good = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
      if (test.isTest() || !good) {
        Duration took = Duration.ofNanos(System.nanoTime() - begun);
        System.out.println(
            result.getStatus() + " " + test.getUniqueId() + " in " + took.toMillis() + " ms");
        result.getThrowable().ifPresent(failure -> failure.printStackTrace(System.out));
      }
      if (result.getStatus() == TestExecutionResult.Status.FAILED) {
        failed++;
      } else if (test.isTest() && good) {
        passed++;
      }
    }
  }
}
