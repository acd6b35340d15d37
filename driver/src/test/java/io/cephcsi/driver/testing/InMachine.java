package io.cephcsi.driver.testing;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectIteration;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.Launcher;
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
   * Runs the classes, in order.
   *
   * @param args names of classes, or class#method, or class#method@n for one set of its parameters;
   *     a name=value sets a system property for those behind it
   */
  public static void main(String[] args) {
    Launcher launcher = LauncherFactory.create();
    Report report = new Report();
    List<DiscoverySelector> selectors = new ArrayList<>();
    for (String arg : args) {
      int equals = arg.indexOf('=');
      if (equals < 0) {
        selectors.add(selector(arg));
      } else {
        run(launcher, report, selectors);
        selectors.clear();
        System.out.println(arg);
        System.setProperty(arg.substring(0, equals), arg.substring(equals + 1));
      }
    }
    run(launcher, report, selectors);
    System.out.println(report.passed + " passed, " + report.failed + " failed");
    System.exit(report.failed == 0 && report.passed > 0 ? 0 : 1);
  }

  private static DiscoverySelector selector(String arg) {
    int at = arg.indexOf('@');
    if (at >= 0) {
      return selectIteration(
          selectMethod(arg.substring(0, at)), Integer.parseInt(arg.substring(at + 1)));
    }
    return arg.contains("#") ? selectMethod(arg) : selectClass(arg);
  }

  private static void run(
      Launcher launcher, Report report, List<? extends DiscoverySelector> selectors) {
    if (!selectors.isEmpty()) {
      int before = report.passed;
      launcher.execute(
          LauncherDiscoveryRequestBuilder.request()
              .filters(EngineFilter.includeEngines("junit-jupiter"))
              .selectors(selectors)
              .build(),
          report);
      if (report.passed == before) {
        System.out.println("none of these passed: " + selectors);
        report.failed++;
      }
    }
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
