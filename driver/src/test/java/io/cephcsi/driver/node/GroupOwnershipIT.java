package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real files, whose names others change meanwhile. Needs root. */
@Timeout(120)
class GroupOwnershipIT {
  private static final int GROUP = 4711;
  private static final int FOLDERS = 20;
  private static final int FILES = 50;

  @TempDir Path folder;
  private Path volume;
  private Path outside;

  @BeforeEach
  void makeFolders() throws IOException {
    volume = Files.createDirectory(folder.resolve("volume"));
    outside = Files.createDirectory(folder.resolve("outside"));
  }

  private static Path file(Path path) throws IOException {
    return Files.createFile(
        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  private static String facts(Path path) throws IOException {
    int mode = (Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 07777;
    return "%o %s".formatted(mode, Files.getAttribute(path, "unix:gid", LinkOption.NOFOLLOW_LINKS));
  }

  private void give() {
    GroupOwnership.give(volume, String.valueOf(GROUP));
  }

  /** Until the flag is set, the names of a folder and of a link to another change places. */
  private Thread swapping(Path shown, Path link, AtomicBoolean end) {
    Path spare = volume.resolve("spare");
    Thread thread =
        new Thread(
            () -> {
              try {
                while (!end.get()) {
                  Files.move(shown, spare);
                  Files.move(link, shown);
                  Files.move(shown, link);
                  Files.move(spare, shown);
                }
              } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
              }
            });
    thread.start();
    return thread;
  }

  @Test
  void linksThatTakeTheNameOfAFolderLeadNowhere() throws Exception {
    List<Path> theirs = new ArrayList<>();
    Path shown = Files.createDirectory(volume.resolve("shown"));
    for (int i = 0; i < FOLDERS; i++) {
      Path inside = Files.createDirectories(shown.resolve("folder-" + i));
      Path other = Files.createDirectories(outside.resolve("folder-" + i));
      for (int j = 0; j < FILES; j++) {
        file(inside.resolve("file-" + j));
        theirs.add(file(other.resolve("file-" + j)));
      }
    }
    Path link = Files.createSymbolicLink(volume.resolve("link"), outside);
    AtomicBoolean end = new AtomicBoolean();
    Thread swapping = swapping(shown, link, end);
    try {
      for (int i = 0; i < 50; i++) {
        Files.setAttribute(volume, "unix:gid", 0); // it is to be walked again
        give();
      }
    } finally {
      end.set(true);
      swapping.join(TimeUnit.SECONDS.toMillis(30));
    }
    for (Path file : theirs) {
      assertThat(facts(file)).as(file.toString()).isEqualTo("600 0");
    }
    assertThat(facts(outside)).isEqualTo("755 0");
    Files.setAttribute(volume, "unix:gid", 0);
    give();
    assertThat(facts(shown.resolve("folder-3/file-7"))).isEqualTo("660 4711");
    assertThat(facts(link)).endsWith(" 4711"); // the link itself
  }

  @Test
  void filesOfAllKindsBelongToTheGroup() throws Exception {
    Path deep = Files.createDirectories(volume.resolve("a/b/c"));
    Path regular = file(deep.resolve("regular"));
    Path fifo = volume.resolve("fifo");
    Path device = volume.resolve("device");
    Path socket = volume.resolve("socket");
    Commands.run(List.of("mkfifo", "-m", "600", fifo.toString()));
    Commands.run(List.of("mknod", "-m", "600", device.toString(), "c", "5", "1"));
    Commands.run(
        List.of(
            "python3",
            "-c",
            "import socket,sys,os; os.umask(0o177)\n"
                + "socket.socket(socket.AF_UNIX).bind(sys.argv[1])",
            socket.toString()));
    Commands.run(List.of("bash", "-c", "install -m 600 /dev/null " + volume + "/$'\\xff\\xfe'"));
    Files.createSymbolicLink(volume.resolve("link"), file(outside.resolve("theirs")));
    give();
    assertThat(facts(regular)).isEqualTo("660 4711");
    assertThat(facts(deep)).isEqualTo("2775 4711");
    assertThat(facts(volume)).isEqualTo("2775 4711");
    for (Path special : List.of(fifo, device, socket)) {
      assertThat(facts(special)).isEqualTo("600 4711");
    }
    assertThat(facts(outside.resolve("theirs"))).isEqualTo("600 0");
    assertThat(Commands.run(List.of("bash", "-c", "stat -c '%a %g' " + volume + "/$'\\xff\\xfe'")))
        .contains("660 4711");
  }

  @Test
  void otherMountsBelowAreLeftAlone() throws Exception {
    Path below = Files.createDirectory(volume.resolve("below"));
    Path bound = file(volume.resolve("bound"));
    Path theirs = file(outside.resolve("theirs"));
    Commands.run(List.of("mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", below.toString()));
    Commands.run(List.of("mount", "--bind", theirs.toString(), bound.toString()));
    try {
      Path file = file(below.resolve("file"));
      give();
      assertThat(facts(file)).isEqualTo("600 0");
      assertThat(facts(below)).isEqualTo("700 0");
      assertThat(facts(theirs)).isEqualTo("600 0");
    } finally {
      Commands.run(List.of("umount", below.toString(), bound.toString()));
    }
    assertThat(facts(volume)).isEqualTo("2775 4711");
  }

  /** So deep that not all folders can be open, and each has files and folders on either side. */
  @Test
  void deepFoldersAreDoneWithFewDescriptors() throws Exception {
    Path deep = volume;
    for (int i = 0; i < 300; i++) {
      deep = Files.createDirectory(deep.resolve("f"));
      file(deep.resolve("file"));
      file(Files.createDirectory(deep.resolve("side")).resolve("file"));
    }
    give();
    assertThat(
            Commands.run(
                List.of(
                    "find",
                    volume.toString(),
                    "(",
                    "!",
                    "-gid",
                    "4711",
                    "-o",
                    "!",
                    "-perm",
                    "-060",
                    ")",
                    "-print")))
        .isEmpty();
  }

  @Test
  void aLargeVolumeIsDoneOnce() throws Exception {
    for (int i = 0; i < 20_000; i++) {
      if (i % 1000 == 0) {
        Files.createDirectory(volume.resolve("folder-" + i / 1000));
      }
      file(volume.resolve("folder-" + i / 1000).resolve("file-" + i));
    }
    long start = System.nanoTime();
    give();
    System.out.printf("20,000 files: %d ms%n", (System.nanoTime() - start) / 1_000_000);
    Path file = volume.resolve("folder-19/file-19999");
    assertThat(facts(file)).isEqualTo("660 4711");
    Files.setAttribute(file, "unix:gid", 0);
    give();
    assertThat(facts(file)).isEqualTo("660 0"); // the top folder said that all is done
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"4294967295", "4294967296", "-1", "+1", "x", "1 ", "99999999999999999999"})
  void whatIsNoGroupIsRefused(String group) {
    VolumeUse use = new VolumeUse(false, "", List.of(), group, false, false, false);
    assertThatThrownBy(() -> GroupOwnership.requireKnown(use))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
  }
}
