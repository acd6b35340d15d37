package io.cephcsi.driver.reclaim.fs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A btrfs to make.
 *
 * @param mkfs options of mkfs.btrfs
 * @param megabytes size of the image
 * @param mount mount options
 * @param steps what is done while it is mounted, in order; none leaves it as mkfs made it
 * @param after shell commands run on the unmounted image {@code $IMAGE}, or empty
 */
record BtrfsSample(String mkfs, long megabytes, String mount, List<Step> steps, String after) {

  /** Something that changes how the space is used. What has no room is left as it was. */
  enum Step {
    FILES(
        "for i in $(seq 60); do mkdir -p d$((i % 5));"
            + " head -c $((RANDOM * RANDOM % 700000 + 1)) /dev/urandom >d$((i % 5))/f$i; done"),
    INLINE("mkdir -p in; for i in $(seq 300); do echo $i $RANDOM >in/x$i; done"),
    ZEROS("mkdir -p z; for i in $(seq 5); do head -c $((RANDOM * 60)) /dev/zero >z/z$RANDOM; done"),
    DELETE("sync -f .; for f in d*/f* in/x*; do ((RANDOM % 3)) || rm -f $f; done"),
    SUBVOLUME(
        "btrfs -q subvolume create sub$((++n)); head -c 900000 /dev/urandom >sub$n/a;"
            + " for i in $(seq 40); do echo $i >sub$n/i$i; done"),
    SNAPSHOT("n=$((n+1)); btrfs -q subvolume snapshot . snap$n; rm -f d*/f$((RANDOM % 60))"),
    DROP(
        "n=$((n+1)); btrfs -q subvolume snapshot . gone$n; sync -f ."
            + "; btrfs -q subvolume delete -C gone$n; btrfs -q subvolume sync ."),
    REFLINK(
        "head -c 2000000 /dev/urandom >r0; cp --reflink=always r0 r1; sync -f .;"
            + " dd if=/dev/urandom of=r1 bs=4k seek=50 count=9 conv=notrunc status=none"),
    NO_COW(
        "mkdir -p nc; chattr +C nc; head -c 3000000 /dev/urandom >nc/f; sync -f .;"
            + " for i in $(seq 9); do dd if=/dev/urandom of=nc/f bs=4k seek=$((RANDOM % 700))"
            + " count=1 conv=notrunc status=none; done"),
    PREALLOCATED(
        "fallocate -l $((RANDOM * 100 + 4096)) big$((++n)); fallocate -p -o 40960 -l 8192 big$n"),
    SCATTER(
        "for i in $(seq 400); do head -c 4096 /dev/urandom >s$i; ((i % 40)) || sync -f .; done;"
            + " sync -f .; for i in $(seq 1 2 400); do rm s$i; done"),
    MANY(
        "mkdir -p m; for i in $(seq 3000); do echo $RANDOM >m/a$i; done; sync -f .;"
            + " for i in $(seq 1500); do head -c 5000 /dev/zero >m/b$i; done; sync -f .;"
            + " rm -f m/*[37]"),
    QUOTA("btrfs quota enable ."),
    BALANCE("sync -f .; btrfs -q balance start --full-balance . || true"),
    BALANCE_DATA("sync -f .; btrfs -q balance start -dusage=90 . || true"),
    SINGLE("sync -f .; btrfs -q balance start -f -mconvert=single -sconvert=single . || true"),
    DUP("sync -f .; btrfs -q balance start -dconvert=dup . || true"),
    SHRINK("sync -f .; btrfs -q filesystem resize -70M . || true"),
    DEFRAGMENT("btrfs -q filesystem defragment -r -czstd .");

    private final String script;

    Step(String script) {
      this.script = script;
    }
  }

  static BtrfsSample of(String mkfs, long megabytes, Step... steps) {
    return new BtrfsSample(mkfs, megabytes, "noatime", List.of(steps), "");
  }

  BtrfsSample mounted(String options) {
    return new BtrfsSample(mkfs, megabytes, options, steps, after);
  }

  BtrfsSample then(String script) {
    return new BtrfsSample(mkfs, megabytes, mount, steps, script);
  }

  /** Makes it; the checksums of all files are in {@code sums} beside the mount point. */
  void make(Path image, Path mountPoint, Random random) {
    Shell.run("truncate", "-s", megabytes + "M", image.toString());
    List<String> command = new ArrayList<>(List.of("mkfs.btrfs", "-q", "-f"));
    if (!mkfs.isEmpty()) {
      command.addAll(List.of(mkfs.split(" +", -1)));
    }
    command.add(image.toString());
    Shell.run(command);
    StringBuilder script = new StringBuilder("IMAGE=" + image + "\nMNT=" + mountPoint + "\n");
    if (!steps.isEmpty()) {
      script.append("mount -o loop,").append(mount).append(" $IMAGE $MNT\ncd $MNT\n");
      script.append("n=0\nRANDOM=").append(random.nextInt(32768)).append('\n');
      steps.forEach(step -> script.append(step.script).append('\n'));
      script.append("sync -f .\nbtrfs quota rescan -w . >/dev/null 2>&1 || true\n");
      script.append(sums("before")).append("cd /\numount $MNT\n");
    }
    Shell.script(script + after + "\n");
  }

  private static String sums(String name) {
    return "find . -type f -print0 | sort -z | xargs -0r sha256sum >$MNT/../" + name + "\n";
  }

  /** Fails unless check, scrub and the files' checksums say that nothing was lost. */
  void verify(Path image, Path mountPoint) {
    StringBuilder script = new StringBuilder("IMAGE=" + image + "\nMNT=" + mountPoint + "\n");
    script.append("btrfs check --check-data-csum $IMAGE 2>&1\n");
    if (!steps.isEmpty()) {
      script.append("mount -o loop,ro $IMAGE $MNT\ncd $MNT\n").append(sums("after"));
      script.append("cmp $MNT/../before $MNT/../after\n");
      script.append("btrfs scrub start -Br . 2>&1\ncd /\numount $MNT\n");
    }
    Shell.script(script.toString());
  }

  /** Any steps with any options that go together. */
  static BtrfsSample random(Random random) {
    List<String> mkfs = new ArrayList<>();
    int node = 4096 << random.nextInt(5);
    mkfs.add("-n " + node);
    mkfs.add("-m " + pick(random, "dup", "dup", "single"));
    mkfs.add("-d " + pick(random, "single", "single", "dup"));
    mkfs.add("--csum " + pick(random, "crc32c", "crc32c", "sha256"));
    String mount = "noatime";
    boolean v1 = random.nextInt(3) == 0;
    mkfs.add(
        "-R " + (v1 ? "^" : "") + "free-space-tree" + (random.nextInt(5) == 0 ? ",quota" : ""));
    if (v1) {
      mount += "," + pick(random, "space_cache=v1", "nospace_cache");
    }
    if (random.nextInt(4) == 0) {
      mkfs.add("-O " + pick(random, "^no-holes", "^extref", "^skinny-metadata"));
    }
    mount +=
        pick(
            random, "", "", ",compress=zstd", ",compress-force=lzo", ",nodatasum", ",max_inline=0");
    List<Step> steps = new ArrayList<>();
    Step[] all = Step.values();
    for (int i = random.nextInt(9); i > 0; i--) {
      steps.add(all[random.nextInt(all.length)]);
    }
    int megabytes = 300 + random.nextInt(random.nextInt(4) == 0 ? 5000 : 500);
    return new BtrfsSample(String.join(" ", mkfs), megabytes, mount, steps, "");
  }

  private static String pick(Random random, String... choices) {
    return choices[random.nextInt(choices.length)];
  }

  @Override
  public String toString() {
    return "mkfs.btrfs "
        + mkfs
        + " on "
        + megabytes
        + " MiB, mounted "
        + mount
        + ", "
        + steps
        + (after.isEmpty() ? "" : ", then " + after);
  }
}
