package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real files, whose names others change meanwhile. Needs root. */
@Timeout(600)
class GroupOwnershipIT {
  private static final int GROUP = 4711;
  private static final int FOLDERS = 20;
  private static final int FILES = 50;

  /** Gives a volume to a group, and prints how that ended. */
  static final class GivesToGroup {
    private GivesToGroup() {}

    public static void main(String[] args) {
      try {
        GroupOwnership.give(Path.of(args[0]), "", args[1], Optional.empty());
        System.out.println("done");
      } catch (VolumeException e) {
        System.out.println(e.reason() + " " + e.getMessage());
      }
    }
  }

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
    GroupOwnership.give(volume, "", String.valueOf(GROUP), Optional.empty());
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
    assertAllBelongToTheGroup();
  }

  private void assertAllBelongToTheGroup() {
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

  /** Gives the volume to the group in a process of its own, which can be ended. */
  private String giveElsewhere(String heap) {
    List<String> command = new ArrayList<>(List.of("timeout", "--signal=KILL", "240"));
    command.addAll(
        ChildJvm.command(
            List.of("-Xmx" + heap, "-XX:+ExitOnOutOfMemoryError"),
            GivesToGroup.class,
            volume.toString(),
            String.valueOf(GROUP)));
    return Commands.run(command);
  }

  /** What the names of the directories take that wait in all levels is more than the heap. */
  @Test
  void deepAndWideFoldersAreDoneWithLittleMemory() {
    Commands.run(List.of("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", volume.toString()));
    try {
      Commands.run(
          List.of(
              "python3",
              "-c",
              """
              import os, sys
              os.chdir(sys.argv[1])
              for level in range(900):
                  for i in range(55): os.mkdir("a%0240d" % i)
                  os.mkdir("f")
                  for i in range(55): os.mkdir("z%0240d" % i)
                  os.chdir("f")
              """,
              volume.toString()));
      assertThat(giveElsewhere("16m")).isEqualTo("done\n");
      assertAllBelongToTheGroup();
    } finally {
      Commands.run(List.of("umount", "-l", volume.toString()));
    }
  }

  /** A path of 1 MiB is none that a message needs, or that is kept for each open directory. */
  @Test
  void namesOfDeepFoldersAreBounded() {
    Commands.run(List.of("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", volume.toString()));
    try {
      Commands.run(
          List.of(
              "python3",
              "-c",
              """
              import os, sys
              os.chdir(sys.argv[1])
              for level in range(1400):
                  os.mkdir("f" * 250)
                  os.chdir("f" * 250)
              """,
              volume.toString()));
      assertThat(giveElsewhere("16m"))
          .startsWith("FAILED_PRECONDITION")
          .contains("within each other")
          .hasSizeLessThan(300);
    } finally {
      Commands.run(List.of("umount", "-l", volume.toString()));
    }
  }

  /** Makes an ext4, changes it as its tools let nobody else, mounts it as the volume. */
  private String giveDamaged(String size, String commands) throws IOException {
    Path image = folder.resolve("image");
    Path script = Files.writeString(folder.resolve("commands"), commands);
    Commands.run(List.of("mke2fs", "-q", "-t", "ext4", image.toString(), size));
    Commands.run(List.of("debugfs", "-w", "-f", script.toString(), image.toString()));
    Commands.run(List.of("mount", "-o", "loop", image.toString(), volume.toString()));
    try {
      return giveElsewhere("64m");
    } finally {
      Commands.run(List.of("umount", "-l", volume.toString()));
    }
  }

  /** 40 levels, each with two names for the next: 2^40 paths. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void foldersThatAreInSeveralOthersAreNotWalkedForEver(boolean sameParent) throws Exception {
    StringBuilder commands = new StringBuilder();
    for (int i = 0; i <= 40; i++) {
      commands.append("mkdir a%1$d\nmkdir b%1$d\n".formatted(i));
    }
    for (int i = 0; i < 40; i++) {
      int next = i + 1;
      commands.append("link a%d a%d/x\n".formatted(next, i));
      commands.append("link %s a%d/y\n".formatted((sameParent ? "a" : "b") + next, i));
      commands.append("link a%d b%d/x\n".formatted(next, i));
      commands.append("link b%d b%d/y\n".formatted(next, i));
    }
    assertThat(giveDamaged("16M", commands.toString()))
        .startsWith("FAILED_PRECONDITION")
        .contains("room for", "e2fsck -f", "group 4711");
  }

  /** Few directories, with many files. */
  @Test
  void filesThatAreInSeveralFoldersAreNotWalkedForEver() throws Exception {
    StringBuilder commands = new StringBuilder("mkdir full\nmkdir other\nwrite /dev/null file\n");
    commands.append("expand_dir full\n".repeat(60)).append("expand_dir other\n".repeat(4));
    for (int i = 0; i < 3000; i++) {
      commands.append("link file full/%d\n".formatted(i));
    }
    for (int i = 0; i < 200; i++) {
      commands.append("link full other/%d\n".formatted(i));
    }
    assertThat(giveDamaged("1M", commands.toString()))
        .startsWith("FAILED_PRECONDITION")
        .contains("room for");
  }

  @Test
  void foldersThatAreInThemselvesAreRefused() throws Exception {
    assertThat(giveDamaged("16M", "mkdir a\nmkdir a/b\nlink a a/b/x\n"))
        .startsWith("FAILED_PRECONDITION")
        .contains("group 4711");
  }

  @Test
  void aWalkEndsForAnUnstaging() throws IOException {
    Path first = Files.createDirectory(volume.resolve("first"));
    Path second = Files.createDirectory(volume.resolve("second"));
    OperationRegistry operations = new OperationRegistry(Duration.ofMinutes(1));
    CompletableFuture<Boolean> staging =
        operations.start(
            "volume",
            "NodeStageVolume",
            Runnable::run,
            operation -> {
              GroupOwnership.give(first, "", String.valueOf(GROUP), Optional.of(operation));
              assertThatThrownBy(
                      () ->
                          operations.start(
                              "volume", "NodeUnstageVolume", Runnable::run, unstaging -> true))
                  .isInstanceOfSatisfying(
                      VolumeException.class,
                      e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED));
              GroupOwnership.give(second, "", String.valueOf(GROUP), Optional.of(operation));
              return true;
            });
    assertThatThrownBy(staging::join)
        .cause()
        .hasMessage("not all files were given to the group: NodeUnstageVolume has precedence")
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED));
    assertThat(facts(first)).isEqualTo("2775 4711");
    assertThat(facts(second)).isEqualTo("755 0");
  }

  /** Publishes at two targets, as one call, during which the target is to be unpublished. */
  @Test
  void aWalkEndsForAnUnpublishing() throws IOException {
    Commands.run(List.of("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", volume.toString()));
    Path first = Files.createDirectory(volume.resolve("first"));
    Path second = Files.createDirectory(volume.resolve("second"));
    Path target = folder.resolve("target");
    Publications publications = new Publications(folder.resolve("mounts"));
    OperationRegistry operations = new OperationRegistry(Duration.ofMinutes(1));
    try {
      CompletableFuture<Boolean> publishing =
          operations.startInTurn(
              "volume",
              "target",
              "NodePublishVolume",
              Runnable::run,
              operation -> {
                PublishRequest request = publishing(target);
                publications.publish(volume, "first", request, new Tmpfs(), operation);
                publications.unpublish("volume", target, new Tmpfs());
                assertThatThrownBy(
                        () ->
                            operations.startInTurn(
                                "volume",
                                "target",
                                "NodeUnpublishVolume",
                                Runnable::run,
                                unpublishing -> true))
                    .isInstanceOfSatisfying(
                        VolumeException.class,
                        e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED));
                publications.publish(volume, "second", request, new Tmpfs(), operation);
                return true;
              });
      assertThatThrownBy(publishing::join)
          .cause()
          .hasMessage("not all files were given to the group: NodeUnpublishVolume has precedence")
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED));
      assertThat(facts(first)).isEqualTo("2775 4711");
      assertThat(facts(second)).isEqualTo("755 0");
      assertThat(target).doesNotExist();
    } finally {
      publications.unpublish("volume", target, new Tmpfs());
      Commands.run(List.of("umount", "-l", volume.toString()));
    }
  }

  private PublishRequest publishing(Path target) {
    VolumeUse use = new VolumeUse(false, "", List.of(), String.valueOf(GROUP), false, false, false);
    return new PublishRequest("volume", volume, target, use, false, Map.of());
  }

  /** Takes each tmpfs of the test for the volume. */
  private final class Tmpfs implements MountOwner {
    @Override
    public boolean isOfKind(Mount mount) {
      return mount.fsType().equals("tmpfs");
    }

    @Override
    public Optional<Boolean> isStagedAs(String volumeId, Mount mount) {
      return Optional.of(volumeId.equals("volume")).filter(is -> mount.target().startsWith(folder));
    }

    @Override
    public boolean isDead(Mount mount) {
      return false;
    }

    @Override
    public boolean isStaging(Path path) {
      return false;
    }
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
