package io.cephcsi.driver.cli;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.volume.VolumeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** The options of {@code ceph-csi fsck} that mend what was found, and how it is done. */
final class FsckRepair {
  private static final Duration LEAST_AGE = Duration.ofMinutes(1);

  @Option(
      names = "--repair",
      description = "mend what is proven, one finding after the other; asks before each")
  private boolean repair;

  @Option(
      names = "--only",
      paramLabel = "KIND",
      description = "mend findings of this kind only; may be repeated")
  private final List<FindingKind> only = new ArrayList<>();

  @Option(names = "--yes", description = "do not ask")
  private boolean yes;

  @Option(
      names = "--older-than",
      paramLabel = "TIME",
      description = "remove only what was left unchanged for so long (default: 24h)")
  private String olderThan = "24h";

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "add a line to this file for each repair, before and after it")
  private @Nullable Path file;

  void requireConsistent() {
    ConfigException.require(
        repair || (only.isEmpty() && !yes && file == null),
        "--only, --yes and --report need --repair");
    ConfigException.require(age().compareTo(LEAST_AGE) >= 0, "--older-than must be at least 1m");
    for (FindingKind kind : only) {
      ConfigException.require(
          kind.mend() == FindingKind.Mend.BY_FSCK, kind + " is mended by hand only");
    }
  }

  Duration age() {
    return GoDuration.parse("--older-than", olderThan);
  }

  /** Mends findings, if that is asked for; the pool that they are of is still open. */
  void run(
      List<Finding> findings, FsckReport report, CommandLine commandLine, ProgressLine progress) {
    if (!repair) {
      return;
    }
    if (!yes) {
      progress.close(); // it would write over the question
    }
    for (Finding finding : findings) {
      if (finding.repair().isPresent()
          && (only.isEmpty() || only.contains(finding.kind()))
          && (yes || isConfirmed(finding, commandLine.getErr()))) {
        note("begin", finding, "");
        String how = "";
        try {
          Optional<String> done = finding.repair().get().mend();
          done.ifPresent(text -> report.mended(finding, text));
          how = done.orElse("nothing: it changed meanwhile, is too young, or is not proven");
        } catch (CephException.OutcomeUnknown e) {
          note("failed", finding, String.valueOf(e.getMessage()));
          throw e;
        } catch (CephException | VolumeException e) {
          how = "failed: " + e.getMessage();
          commandLine.getErr().println(DriverMain.shown(finding.object() + ": " + how));
        }
        note("end", finding, how);
      }
    }
  }

  private static boolean isConfirmed(Finding finding, PrintWriter err) {
    err.printf(
        "%s %s %s%n  %s%n  %s%nMend it? [y/N] ",
        finding.kind(),
        finding.place(),
        finding.object(),
        finding.detail(),
        finding.kind().remedy());
    err.flush();
    try {
      String answer = input().readLine();
      return answer != null && (answer.equals("y") || answer.equals("yes"));
    } catch (IOException e) {
      return false;
    }
  }

  private static BufferedReader input() {
    return Input.READER;
  }

  private void note(String what, Finding finding, String how) {
    if (file == null) {
      return;
    }
    String line =
        String.join(
            "\t",
            Instant.now().toString(),
            what,
            finding.kind().name(),
            finding.place(),
            finding.object(),
            DriverMain.shown(how));
    try {
      Files.writeString(
          file,
          line + System.lineSeparator(),
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND,
          StandardOpenOption.DSYNC);
    } catch (IOException e) {
      throw new UncheckedIOException(file + " cannot be written", e);
    }
  }

  /** The answers; one reader for all, as it reads ahead. */
  private static final class Input {
    static final BufferedReader READER =
        new BufferedReader(new InputStreamReader(System.in, Charset.defaultCharset()));
  }
}
