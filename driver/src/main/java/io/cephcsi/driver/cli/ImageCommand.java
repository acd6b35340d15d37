package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.bindings.rados.RadosCluster;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** What the commands share that work on images without a server: how they connect and print. */
abstract class ImageCommand implements Callable<Integer> {
  /** Not all that was asked for could be done, and that is no failure. */
  static final int EXIT_INCOMPLETE = 3;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Parameters(
      arity = "0..*",
      paramLabel = "IMAGE",
      description = "POOL[/NAMESPACE]/IMAGE, or the id of a volume")
  private final List<String> images = new ArrayList<>();

  @Mixin private final ClusterOptions connection = new ClusterOptions();

  @Option(names = "--instanceid", paramLabel = "ID", description = "the instance of volume ids")
  private String instanceId = DriverSettings.INSTANCE_ID;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table or json (default: table)")
  private OutputFormat output = OutputFormat.table;

  /** The images as they were named. */
  final List<String> images() {
    return images;
  }

  final ClusterOptions connection() {
    return connection;
  }

  final RadosCluster connect() {
    return connection.connect(Map.of());
  }

  /** Finds out which image a name or volume id means. */
  final ImageRef resolve(String text, RadosCluster cluster) {
    return ImageRef.resolve(text, cluster, connection.defaultNamespace(), instanceId);
  }

  final PrintWriter err() {
    return spec.commandLine().getErr();
  }

  /** Prints in the form that was asked for. */
  final void print(Consumer<PrintWriter> asTable, Consumer<ObjectNode> asJson) {
    output.print(spec.commandLine().getOut(), asTable, asJson);
  }

  /** The array of images in what is printed. */
  static ArrayNode imagesOf(ObjectNode root) {
    return root.putArray("images");
  }

  /** A number of bytes for people. */
  static String bytes(long bytes) {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = bytes;
    int unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  }
}
