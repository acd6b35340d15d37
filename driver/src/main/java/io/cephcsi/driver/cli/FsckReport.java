package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.fsck.check.FileSystemCheck;
import io.cephcsi.driver.fsck.check.RbdCheck;
import io.cephcsi.driver.volume.PlainText;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** What a check found, and what was mended. */
final class FsckReport {
  private final List<Found> findings = new ArrayList<>();
  private final IdentityHashMap<Finding, String> mended = new IdentityHashMap<>();
  private final Map<String, String> checked = new LinkedHashMap<>();
  private final Map<String, String> leftOut = new LinkedHashMap<>();

  private String cluster = "";

  /**
   * A finding.
   *
   * @param cluster the clusterIDs; empty when only one cluster is checked
   */
  private record Found(String cluster, Finding finding) {}

  /** Begins with a cluster of several. */
  void begin(String clusterIds) {
    cluster = clusterIds;
  }

  /** A place, with its cluster if there are several. */
  private String place(String of, String name) {
    return of.isEmpty() ? name : of + ": " + name;
  }

  void add(String pool, String namespace, RbdCheck.Result result) {
    result.findings().forEach(this::add);
    String name = namespace.isEmpty() ? pool : pool + "/" + namespace;
    result.leftOut().ifPresent(why -> leaveOut("data of snapshots in " + name, why));
    checked.put(
        place(cluster, name),
        result.volumes()
            + " volumes, "
            + result.images()
            + " images, "
            + result.dataObjects()
            + " data objects");
  }

  void add(String fileSystem, String namespace, FileSystemCheck.Result result) {
    result.findings().forEach(this::add);
    String name =
        namespace.equals(ClusterConfig.CEPHFS_DEFAULT)
            ? fileSystem
            : fileSystem + ", namespace \"" + namespace + "\"";
    result.leftOut().ifPresent(why -> leaveOut("subvolumes of " + name, why));
    checked.put(
        place(cluster, "file system " + name),
        result.volumes() + " volumes, " + result.subvolumes() + " subvolumes");
  }

  void add(Finding finding) {
    findings.add(new Found(cluster, finding));
  }

  /** Notes what was not checked, such as a pool that the user may not read. */
  void leaveOut(String place, String why) {
    leftOut.put(place(cluster, place), why);
  }

  /** Notes that a finding was mended. */
  void mended(Finding finding, String how) {
    mended.put(finding, how);
  }

  /** Whether nothing is wrong any more. */
  boolean isClean() {
    return findings.stream().allMatch(found -> mended.containsKey(found.finding));
  }

  void table(PrintWriter out) {
    checked.forEach((place, what) -> out.printf("%s: %s%n", PlainText.escape(place), what));
    leftOut.forEach(
        (place, why) ->
            out.printf("%s: LEFT OUT: %s%n", PlainText.escape(place), PlainText.escape(why)));
    for (FindingKind kind : FindingKind.values()) {
      List<Found> ofKind = findings.stream().filter(f -> f.finding.kind() == kind).toList();
      if (!ofKind.isEmpty()) {
        out.printf("%n%s (%d): %s%n", kind, ofKind.size(), kind.meaning());
        out.printf("  to mend it: %s%n", kind.remedy());
        ofKind.forEach(found -> line(out, found));
      }
    }
    out.printf(
        "%s%d problems%s%n",
        findings.isEmpty() ? "" : System.lineSeparator(),
        findings.size(),
        mended.isEmpty() ? "" : ", " + mended.size() + " mended");
  }

  private void line(PrintWriter out, Found found) {
    Finding finding = found.finding;
    String bytes = finding.bytes().isEmpty() ? "" : "  " + mebibytes(finding.bytes().getAsLong());
    String place = place(found.cluster, finding.place());
    out.printf("  %s %s%s%n", PlainText.escape(place), finding.object(), bytes);
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
    for (Found found : findings) {
      Finding finding = found.finding;
      ObjectNode node = list.addObject();
      if (!found.cluster.isEmpty()) {
        node.put("cluster", found.cluster);
      }
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
              .map(Found::finding)
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
    text.append("# HELP ceph_csi_fsck_left_out What it could not check, such as pools.\n");
    text.append("# TYPE ceph_csi_fsck_left_out gauge\n");
    text.append("ceph_csi_fsck_left_out ").append(leftOut.size()).append('\n');
    text.append("# HELP ceph_csi_fsck_finished_seconds When it ended, in seconds since 1970.\n");
    text.append("# TYPE ceph_csi_fsck_finished_seconds gauge\n");
    text.append("ceph_csi_fsck_finished_seconds ")
        .append(Instant.now().getEpochSecond())
        .append('\n');
    OutputFile.replace(file, text.toString());
  }
}
