package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.cephcsi.driver.volume.PlainText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Settings for Ceph's clients in the file that ceph-csi and its mounters read and this driver does
 * not: its clients get theirs from the clusters file and from the monitors. Who has {@code
 * ms_client_mode = secure} there must not lose it unnoticed.
 */
final class IgnoredCephConf {
  /** Where deployments of ceph-csi mount it. */
  static final Path FILE = Path.of("/etc/ceph/ceph.conf");

  private static final Logger LOG = LoggerFactory.getLogger(IgnoredCephConf.class);
  private static final long LARGEST = 1 << 20;
  private static final int SHOWN = 500;

  /** Sections that clients read: others are of daemons. */
  private static final Pattern OF_CLIENTS = Pattern.compile("global|client(\\..*)?");

  /**
   * What is in the file of every deployment, what the driver is told elsewhere, and what daemons
   * alone look at.
   */
  private static final Pattern NO_NEWS =
      Pattern.compile(
          "fsid|mon_host|mon_initial_members|auth_(cluster|service|client)_required"
              + "|auth_supported|key|keyfile|keyring|admin_socket|(err_|mon_cluster_)?log_.*"
              + "|fuse_big_writes|osd_pool_default_.*|(public|cluster)_(network|addr)");

  private IgnoredCephConf() {}

  /** Warns of settings in a file, by their names; of no file there is nothing to say. */
  static void warn(Path file) {
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > LARGEST) {
        return;
      }
      Set<String> ignored = settings(Files.readString(file, ISO_8859_1));
      if (!ignored.isEmpty()) {
        LOG.warn(
            "{} has settings that this driver does not use: {}. Set those of Ceph's clients on the"
                + " monitors (ceph config set client NAME VALUE), and those of the kernel's by"
                + " mapOptions and kernelMountOptions",
            file,
            PlainText.escape(String.join(", ", ignored), SHOWN));
      }
    } catch (IOException e) {
      LOG.debug("{} cannot be read: {}", file, e.toString());
    }
  }

  /**
   * The names of settings for clients in a text in the form of ceph.conf that are worth a word,
   * sorted.
   */
  static Set<String> settings(String text) {
    Set<String> names = new TreeSet<>();
    boolean ofClients = true;
    for (String line : text.replaceAll("\\\\\\R", " ").lines().map(String::strip).toList()) {
      if (line.startsWith("#") || line.startsWith(";")) {
        continue;
      }
      if (line.startsWith("[")) {
        int end = line.indexOf(']');
        String section = line.substring(1, end < 0 ? line.length() : end).strip();
        ofClients = OF_CLIENTS.matcher(section).matches();
        continue;
      }
      int equal = line.indexOf('=');
      if (ofClients && equal > 0) {
        String name =
            line.substring(0, equal).strip().replaceAll("[\\s_-]+", "_").toLowerCase(Locale.ROOT);
        if (!NO_NEWS.matcher(name).matches()) {
          names.add(name);
        }
      }
    }
    return names;
  }
}
