package io.cephcsi.benchmarks;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** All questions in one run: the report, and the guard of the ratios. */
@Command(
    name = "bench",
    description = {
      "Measures the hot paths on a real cluster, in turns with the same in C, and reports.",
      "The cluster is the one of CEPH_CONF, else what CEPH_TEST_PROVIDER provides."
    },
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:measured; with --guard: no ratio fell",
      "1:failed",
      "2:wrong command line",
      "3:with --guard: a ratio fell below its band"
    })
final class Bench implements Callable<Integer> {
  private static final int EXIT_FELL = 3;
  private static final Map<String, Question> QUESTIONS = questions();

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Option(names = "--quick", description = "smaller sizes and fewer rounds")
  private boolean quick;

  @Option(
      names = "--only",
      paramLabel = "QUESTION",
      split = ",",
      description =
          "some of: operations, tracker, discard, trim, sparsify, usage, snapshots, shallow, cephfs, first,"
              + " rpc, allocation")
  private Set<String> only = new LinkedHashSet<>();

  @Option(
      names = "--programs",
      paramLabel = "DIR",
      required = true,
      description = "the built C programs")
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private Path programs;

  @Option(
      names = "--objectstore",
      paramLabel = "STORE",
      description = "local daemons whose OSD keeps objects in this: bluestore or memstore")
  private @Nullable String objectstore;

  @Option(names = "--out", paramLabel = "DIR", description = "where the report is written")
  private Path out = Path.of("target/bench");

  @Option(names = "--baseline", paramLabel = "FILE", description = "ratios to compare with")
  private Path baseline = Path.of("benchmarks/baseline.json");

  @Option(names = "--guard", description = "fail when a ratio is below that of the baseline")
  private boolean guard;

  @Option(
      names = "--save-baseline",
      paramLabel = "RUNS",
      description = "ask so many times, and write the ratios and their bands to the baseline")
  private int saveRuns;

  @Option(names = "--flame", description = "sample the JVM; the report gets a flame graph")
  private boolean flame;

  @Option(
      names = "--slow-down",
      paramLabel = "PART",
      description = "slow our side by this part of its time, to see that the guard catches it")
  private double slowed;

  /** Runs; ends the process with its exit code. */
  public static void main(String[] args) {
    CommandLine program = new CommandLine(new Bench());
    program.setExecutionExceptionHandler(
        (e, line, result) -> {
          e.printStackTrace(line.getErr());
          return 1;
        });
    System.exit(program.execute(args));
  }

  private static Map<String, Question> questions() {
    Map<String, Question> all = new LinkedHashMap<>();
    all.put("operations", new OperationQuestion());
    all.put("tracker", new TrackerQuestion());
    all.put("discard", new DiscardQuestion());
    all.put("trim", new TrimQuestion());
    all.put("sparsify", new SparsifyQuestion());
    all.put("usage", new UsageQuestion());
    all.put("snapshots", new SnapshotQuestion());
    all.put("shallow", new ShallowQuestion());
    all.put("cephfs", new CephFsQuestion());
    all.put("first", new FirstCallsQuestion());
    all.put("rpc", new RpcQuestion());
    all.put("allocation", new AllocationQuestion());
    return all;
  }

  @Override
  public Integer call() throws Exception {
    for (String name : only) {
      if (!QUESTIONS.containsKey(name)) {
        throw new ParameterException(spec.commandLine(), "no question is called " + name);
      }
    }
    checkObjectstore();
    if (guard && !Files.isReadable(baseline)) {
      throw new ParameterException(
          spec.commandLine(), "there is no " + baseline + ": make it by --save-baseline");
    }
    BenchSetup setup = new BenchSetup(BenchCluster.conf(objectstore), programs, quick, slowed);
    if (saveRuns > 0) {
      List<List<Finding>> runs = new ArrayList<>();
      for (int run = 0; run < saveRuns; run++) {
        runs.add(ask(setup));
      }
      Guard.of(runs).save(baseline);
      say("saved " + baseline);
      return 0;
    }
    @Nullable Flames flames = flame ? Flames.start(spec.commandLine().getErr()) : null;
    List<Finding> findings = ask(setup);
    String graph = flames == null ? "" : flames.stop();
    Files.createDirectories(out);
    Report report = new Report(findings, Machine.of(setup), graph);
    report.write(out);
    PrintWriter print = spec.commandLine().getOut();
    print.println(report.markdown());
    say("report: " + out.resolve("report.html"));
    return guard ? compare(findings, print) : 0;
  }

  private void checkObjectstore() {
    if (objectstore == null) {
      return;
    }
    if (!Set.of("bluestore", "memstore").contains(objectstore)) {
      throw new ParameterException(
          spec.commandLine(), "--objectstore is bluestore or memstore, not " + objectstore);
    }
    if (!BenchCluster.canChooseObjectstore()) {
      throw new ParameterException(
          spec.commandLine(),
          "--objectstore is for new local daemons: CEPH_CONF or CEPH_TEST_PROVIDER names another cluster");
    }
    if (objectstore.equals("memstore") && (guard || saveRuns > 0)) {
      throw new ParameterException(
          spec.commandLine(), "the guard and its baseline are of bluestore, not of memstore");
    }
  }

  private List<Finding> ask(BenchSetup setup) throws Exception {
    List<Finding> findings = new ArrayList<>();
    for (Map.Entry<String, Question> question : QUESTIONS.entrySet()) {
      if (only.isEmpty() || only.contains(question.getKey())) {
        long start = System.nanoTime();
        findings.addAll(question.getValue().ask(setup));
        say(question.getKey() + ": " + (System.nanoTime() - start) / 1_000_000_000 + " s");
      }
    }
    return findings;
  }

  private int compare(List<Finding> findings, PrintWriter print) throws IOException {
    List<String> fallen = Guard.load(baseline).fallen(findings);
    fallen.forEach(line -> print.println("FELL " + line));
    if (fallen.isEmpty()) {
      print.println("no ratio fell below its band");
    }
    print.flush();
    return fallen.isEmpty() ? 0 : EXIT_FELL;
  }

  private void say(String line) {
    spec.commandLine().getErr().println("bench: " + line);
    spec.commandLine().getErr().flush();
  }
}
