package io.cephcsi.driver.fuzz;

import java.util.List;
import java.util.Random;

/** Texts that somebody may send to do harm. */
final class HostileText {
  private static final List<String> TEXTS =
      List.of(
          "",
          " ",
          "\0",
          "csi-vol-\0",
          "a\0b",
          "a\nb",
          "a\r\nERROR forged line",
          "a\tb",
          "\u001b[2J\u001b[31mred",
          "\u007f",
          "\u0085\u009b",
          "\u202egnp.exe",
          "\ufeffx",
          "\u2028",
          "\ud83d\ude00",
          "\u00fc\u00df",
          "e\u0301",
          ".",
          "..",
          "../../etc/passwd",
          "/etc",
          "a/b",
          "a@b",
          "rbd/image@snap",
          "-d",
          "--help",
          "--conf=/etc/shadow",
          "a,b",
          "a=b",
          "name=admin",
          "secretfile=/etc/shadow",
          "ro,loop",
          "log_file=/tmp/ceph-csi-fuzz-must-not-be-there",
          "-d /etc",
          "-z /tmp/ceph-csi-fuzz-must-not-be-there",
          "krbd:name=admin;nbd:admin_socket=/tmp/ceph-csi-fuzz-must-not-be-there",
          "$(touch /tmp/ceph-csi-fuzz-must-not-be-there)",
          "; touch /tmp/ceph-csi-fuzz-must-not-be-there",
          "`id`",
          "%s%n%x",
          "{}",
          "{\"prefix\": \"fs subvolume rm\"}",
          "\"",
          "'",
          "\\",
          "\\u0000",
          "true",
          "True",
          "yes",
          "1",
          "t",
          " true",
          "0",
          "-1",
          "4294967295",
          "9223372036854775807",
          "18446744073709551616",
          "1e9",
          "0x10",
          "NaN",
          "null",
          "fuzz-image",
          "rbd2",
          "_nogroup",
          "AQDfuzzfuzzfuzzBAAfuzzfuzzfuzzfuzzfuzz==",
          "0001-000c-test-cluster-0000000000000001-00000000-0000-0007-0000-000000000007",
          "0001-0000--0000000000000001-00000000-0000-0007-0000-000000000007",
          "0001-ffff-test-cluster-ffffffffffffffff-00000000-0000-0007-0000-000000000007");

  private HostileText() {}

  /** One of them, or one that is long, or of random characters. */
  static String any(Random random) {
    return switch (random.nextInt(12)) {
      case 0 -> "x".repeat(1 + random.nextInt(6000));
      case 1 -> TEXTS.get(random.nextInt(TEXTS.size())).repeat(1 + random.nextInt(40));
      case 2 -> characters(random, 1 + random.nextInt(64));
      default -> TEXTS.get(random.nextInt(TEXTS.size()));
    };
  }

  private static String characters(Random random, int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      int point = random.nextBoolean() ? random.nextInt(256) : random.nextInt(0x3000);
      text.appendCodePoint(point);
    }
    return text.toString();
  }
}
