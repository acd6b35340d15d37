package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Images that ask for much memory, several at once, in a process with the heap of the driver: what
 * tenants may have made, and large file systems as they are. Needs root.
 */
class LargeImagesIT extends ImageCase {
  private static final int TIMES = 6;

  /** The options that the launcher gives the JVM for memory. */
  private static List<String> options() throws IOException {
    List<String> options = new ArrayList<>(List.of("-XX:+UseSerialGC"));
    Matcher found =
        Pattern.compile("-X(?:m[nsx]|ss)[0-9]+m|-XX:\\+ExitOnOutOfMemoryError")
            .matcher(Files.readString(Path.of("src/main/dist/bin/ceph-csi")));
    while (found.find()) {
      options.add(found.group());
    }
    assertThat(options).contains("-Xmx128m", "-XX:+ExitOnOutOfMemoryError");
    return options;
  }

  private static List<String> inspect(List<String> images) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(ChildJvm.java());
    command.addAll(options());
    command.add("-cp");
    command.add(ChildJvm.classPath());
    command.add(LargeImages.class.getName());
    command.addAll(images);
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    int code = Shell.stream(command, lines::add);
    assertThat(code).as("%s", lines).isZero();
    return lines;
  }

  private static List<String> times(String... images) {
    List<String> all = new ArrayList<>();
    for (int i = 0; i < TIMES; i++) {
      all.addAll(List.of(images));
    }
    return all;
  }

  @Test
  void imagesThatPromiseMuchAreRefused() throws IOException {
    List<String> lines = inspect(times("ext", "xfs", "ext-of-many-groups", "xfs"));
    assertThat(lines).hasSize(4 * TIMES);
    for (String line : lines) {
      assertThat(line)
          .containsAnyOf("bad size of block groups", "a block of another kind", "TOO_LARGE");
    }
    assertThat(lines.stream().filter(line -> line.contains("TOO_LARGE"))).hasSize(TIMES);
  }

  @Test
  void largeFileSystemsAreReadOneAfterTheOther() throws IOException {
    Shell.require("mkfs.ext4", "mkfs.xfs", "mkfs.fat");
    Path ext4 = directory.resolve("ext4");
    Path xfs = directory.resolve("xfs");
    Path fat = directory.resolve("fat");
    // One MiB less than 16 TiB: so long can a file of ext4 be that has the image.
    Shell.script("truncate -s 16777215M " + ext4 + "; mkfs.ext4 -q -F " + ext4);
    Shell.script("truncate -s 4T " + xfs + "; mkfs.xfs -q -d agcount=2000 " + xfs);
    Shell.script("truncate -s 4000M " + fat + "; mkfs.fat -F 32 -s 1 " + fat + " >/dev/null");
    List<String> lines =
        inspect(times(ext4.toString(), fat.toString(), xfs.toString(), "ext-of-many-groups"));
    assertThat(lines).hasSize(4 * TIMES);
    assertThat(lines.stream().filter(line -> line.contains(" clean ext4")))
        .as("%s", lines)
        .hasSize(TIMES);
    assertThat(lines.stream().filter(line -> line.contains(" clean XFS"))).hasSize(TIMES);
    assertThat(lines.stream().filter(line -> line.contains(" clean FAT"))).hasSize(TIMES);
    assertThat(lines.stream().filter(line -> line.contains("TOO_LARGE"))).hasSize(TIMES);
  }
}
