package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.fsck.check.FileSystemCheck;
import io.cephcsi.driver.fsck.check.RbdCheck;
import io.cephcsi.driver.volume.PlainText;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** What a check found, and what was mended. */
final class FsckReport {
  private final List<Finding> findings = new ArrayList<>();
  private final Map<Finding, String> mended = new LinkedHashMap<>();
  private final Map<String, String> checked = new LinkedHashMap<>();
  private final Map<String, String> leftOut = new LinkedHashMap<>();

  void add(String pool, String namespace, RbdCheck.Result result) {
    findings.addAll(result.findings());
    checked.put(
        namespace.isEmpty() ? pool : pool + "/" + namespace,
        result.volumes()
            + " volumes, "
            + result.images()
            + " images, "
            + result.dataObjects()
            + " data objects");
  }

  void add(String fileSystem, FileSystemCheck.Result result) {
    findings.addAll(result.findings());
    checked.put(
        "file system " + fileSystem,
        result.volumes() + " volumes, " + result.subvolumes() + " subvolumes");
  }

  void add(Finding finding) {
    findings.add(finding);
  }

  /** Notes a pool that the user may not read. */
  void leaveOut(String place, String why) {
    leftOut.put(place, why);
  }

  /** Notes that a finding was mended. */
  void mended(Finding finding, String how) {
    mended.put(finding, how);
  }

  /** Whether nothing is wrong any more. */
  boolean isClean() {
    return findings.stream().allMatch(mended::containsKey);
  }

  void table(PrintWriter out) {
    checked.forEach((place, what) -> out.printf("%s: %s%n", PlainText.escape(place), what));
    leftOut.forEach(
        (place, why) ->
            out.printf("%s: LEFT OUT: %s%n", PlainText.escape(place), PlainText.escape(why)));
    for (FindingKind kind : FindingKind.values()) {
      List<Finding> ofKind = findings.stream().filter(f -> f.kind() == kind).toList();
      if (!ofKind.isEmpty()) {
        out.printf("%n%s (%d): %s%n", kind, ofKind.size(), kind.meaning());
        out.printf("  to mend it: %s%n", kind.remedy());
        ofKind.forEach(finding -> line(out, finding));
      }
    }
    out.printf(
        "%s%d problems%s%n",
        findings.isEmpty() ? "" : System.lineSeparator(),
        findings.size(),
        mended.isEmpty() ? "" : ", " + mended.size() + " mended");
  }

  private void line(PrintWriter out, Finding finding) {
    String bytes = finding.bytes().isEmpty() ? "" : "  " + mebibytes(finding.bytes().getAsLong());
    out.printf("  %s %s%s%n", finding.place(), finding.object(), bytes);
    if (!finding.detail().isEmpty()) {
      out.printf("      %s%n", finding.detail());
    }
    String how = mended.get(finding);
    if (how != null) {
      out.printf("      MENDED: %s%n", PlainText.escape(how));
    } else if (!finding.command().isEmpty()) {
      out.printf("      $ %s%n", finding.command());
    }
  }

  private static String mebibytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f MiB", bytes / 1048576.0);
  }

  void json(ObjectNode root) {
    ObjectNode places = root.putObject("checked");
    checked.forEach(places::put);
    ObjectNode left = root.putObject("leftOut");
    leftOut.forEach(left::put);
    ArrayNode list = root.putArray("findings");
    for (Finding finding : findings) {
      ObjectNode node = list.addObject();
      node.put("kind", finding.kind().name());
      node.put("place", finding.place());
      node.put("object", finding.object());
      node.put("detail", finding.detail());
      finding.bytes().ifPresent(bytes -> node.put("bytes", bytes));
      node.put("meaning", finding.kind().meaning());
      node.put("remedy", finding.kind().remedy());
      node.put("mendedBy", finding.repair().isPresent() ? "fsck" : "hand");
      node.put("command", finding.command());
      Optional.ofNullable(mended.get(finding)).ifPresent(how -> node.put("mended", how));
    }
  }

  /**
   * Writes the numbers of findings for node_exporter's collector of text files, all at once: it
   * never reads half a file.
   */
  void writeMetrics(Path file) {
    Map<FindingKind, Long> counts = new EnumMap<>(FindingKind.class);
    for (FindingKind kind : FindingKind.values()) {
      counts.put(
          kind,
          findings.stream()
              .filter(finding -> finding.kind() == kind && !mended.containsKey(finding))
              .count());
    }
    StringBuilder text = new StringBuilder();
    text.append("# HELP ceph_csi_fsck_findings Problems that ceph-csi fsck found, by kind.\n");
    text.append("# TYPE ceph_csi_fsck_findings gauge\n");
    counts.forEach(
        (kind, count) ->
            text.append("ceph_csi_fsck_findings{kind=\"")
                .append(kind.name().toLowerCase(Locale.ROOT))
                .append("\"} ")
                .append(count)
                .append('\n'));
    text.append("# HELP ceph_csi_fsck_finished_seconds When it ended, in seconds since 1970.\n");
    text.append("# TYPE ceph_csi_fsck_finished_seconds gauge\n");
    text.append("ceph_csi_fsck_finished_seconds ")
        .append(Instant.now().getEpochSecond())
        .append('\n');
    write(file, text.toString());
  }

  /** Replaces a file. */
  static void write(Path file, String text) {
    Path absolute = file.toAbsolutePath();
    Path folder = absolute.getParent();
    try {
      Path begun =
          Files.createTempFile(folder == null ? Path.of("/") : folder, ".ceph-csi-fsck", ".tmp");
      Files.writeString(begun, text);
      Files.setPosixFilePermissions(
          begun, java.nio.file.attribute.PosixFilePermissions.fromString("rw-r--r--"));
      Files.move(begun, absolute, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be written: " + e.getMessage(), e);
    }
  }
}
