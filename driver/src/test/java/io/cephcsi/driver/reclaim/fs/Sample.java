package io.cephcsi.driver.reclaim.fs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A file system to make: with which options, how filled, what is done to it afterwards.
 *
 * @param mkfs program and options, without the image
 * @param megabytes size of the image
 * @param fill how it gets its files
 * @param after shell commands run on the unmounted image {@code $IMAGE}, or empty
 */
record Sample(List<String> mkfs, long megabytes, Fill fill, String after) {

  private static final int NO_MOUNT = 42;

  /** How a file system gets its files. */
  enum Fill {
    /** It stays as mkfs made it. */
    EMPTY,
    /** Mounted; files written and some deleted. */
    MOUNT,
    /** For what this kernel does not mount: debugfs writes and deletes the files. */
    DEBUGFS
  }

  static Sample of(String mkfs, long megabytes, Fill fill) {
    return new Sample(List.of(mkfs.split(" +", -1)), megabytes, fill, "");
  }

  Sample then(String script) {
    return new Sample(mkfs, megabytes, fill, script);
  }

  boolean xfs() {
    return mkfs.get(0).equals("mkfs.xfs");
  }

  /** Makes the file system in a sparse file. */
  void make(Path image, Path mountPoint, Random random) {
    Shell.run("truncate", "-s", megabytes + "M", image.toString());
    List<String> command = new ArrayList<>(mkfs);
    command.addAll(xfs() ? List.of("-q", "-f") : List.of("-q", "-F"));
    command.add(image.toString());
    Shell.run(command);
    switch (fill) {
      case EMPTY -> {}
      case MOUNT -> fillMounted(image, mountPoint, random);
      case DEBUGFS -> fillByDebugfs(image, random);
    }
    if (!after.isEmpty()) {
      Shell.script("IMAGE=" + image + "\nMNT=" + mountPoint + "\n" + after);
    }
  }

  private void fillMounted(Path image, Path mountPoint, Random random) {
    String script =
        String.join(
            "\n",
            "mount -o loop " + image + " " + mountPoint + " || exit " + NO_MOUNT,
            files(mountPoint, random),
            "umount " + mountPoint);
    int code = Shell.tryScript(script);
    if (code == NO_MOUNT && !xfs()) {
      System.out.println("this kernel does not mount it, debugfs fills it: " + this);
      fillByDebugfs(image, random);
    } else if (code != 0) {
      throw new AssertionError("mounting and filling ended with " + code + ":\n" + script);
    }
  }

  /** Bash lines that write files of random sizes and delete a random part of them. */
  String files(Path directory, Random random) {
    long budget = Math.min(megabytes / 2, 24) << 10;
    int files = 20 + random.nextInt(megabytes < 100 ? 100 : 400);
    long most = Math.max(1, 2 * budget / files);
    return String.join(
        "\n",
        "cd " + directory,
        "RANDOM=" + random.nextInt(32768),
        "for i in $(seq " + files + "); do",
        "  mkdir -p d$((i % 7))",
        "  head -c $((1024 * (RANDOM % "
            + most
            + ") + RANDOM % 1024)) /dev/zero >d$((i % 7))/f$i"
            + " || break",
        "done",
        "sync -f .",
        "for f in d*/f*; do ((RANDOM % 100 >= " + random.nextInt(90) + ")) || rm $f; done",
        "fallocate -l " + (1 + random.nextInt(2000)) + "k big || true",
        "sync -f .",
        "cd /");
  }

  private void fillByDebugfs(Path image, Random random) {
    StringBuilder script = new StringBuilder();
    int files = 10 + random.nextInt(40);
    for (int i = 0; i < files; i++) {
      script.append("write /bin/true f").append(i).append('\n');
    }
    for (int i = 0; i < files; i++) {
      if (random.nextInt(3) == 0) {
        script.append("rm f").append(i).append('\n');
      }
    }
    Shell.script("debugfs -w -f - " + image + " >/dev/null 2>&1 <<'END'\n" + script + "END");
  }

  @Override
  public String toString() {
    return String.join(" ", mkfs)
        + " on "
        + megabytes
        + " MiB, "
        + fill
        + (after.isEmpty() ? "" : ", then " + after);
  }
}
