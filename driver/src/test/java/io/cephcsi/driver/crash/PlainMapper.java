package io.cephcsi.driver.crash;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * In the place of the device mapper, where the kernel has none: decrypted devices that are loop
 * devices on the data behind the header, and not decrypted. All else is done by the real
 * cryptsetup: the format, the slots, and whether a passphrase opens the header; but a passphrase is
 * derived in milliseconds. A driver that runs with {@link #starter} takes them for devices of the
 * device mapper, by {@link MappedDevices}.
 */
final class PlainMapper implements AutoCloseable {
  /** While it is there, a format takes the time that it takes for users. */
  private static final String SLOW = "slow";

  private static final String OVERLAPS = "overlaps";

  private static final String PROGRAM =
      """
      #!/bin/bash
      # Links and nodes are there before the device is, and go after it, as all else of it does at once.
      set -eu
      folder=FOLDER
      real=/usr/sbin/cryptsetup
      name=${!#}
      number() {
        local each
        for each in "$folder"/sys/block/dm-*/dm/name; do
          if [[ -e $each && $(<"$each") == "$name" ]]; then each=${each%/dm/name}; echo "${each##*/dm-}"; return; fi
        done
        return 4
      }
      case " $* " in
        *" luksFormat "*)
          for each in $(cat "$folder/formats" 2>/dev/null || true); do
            [[ ! -e /proc/$each ]] || [[ $(tr '\\0' ' ' <"/proc/$each/cmdline") != *" luksFormat "*"$name "* ]] ||
              echo "$name" >>"$folder/overlaps"
          done
          echo $$ >>"$folder/formats"
          if [[ -e $folder/slow ]]; then exec "$real" "$@"; fi
          exec "$real" --pbkdf-force-iterations 4 "$@" ;;
        *" luksAddKey "*) exec "$real" --pbkdf-force-iterations 4 "$@" ;;
        *" --test-passphrase "*) exec "$real" "$@" ;;
        *" open "*)
          only='' header='' word=''
          for each; do
            [[ $word != --header ]] || header=$each
            [[ $each != --readonly ]] || only=--read-only
            word=$each
          done
          device=${*:$#-1:1}
          ! number >/dev/null || exit 5
          "$real" open --test-passphrase --type luks2 --key-file=- "$header"
          below=$(stat -Lc %Hr:%Lr "$device")
          made=$(losetup --find --show $only --offset 16777216 "$device")
          number=${made#/dev/loop}
          making=$folder/making-$number
          rm -rf "$folder/sys/dev/block/7:$number" # of another use of the number
          [[ ! -L $folder/sys/dev/block/$below ]] || rm "$folder/sys/dev/block/$below"
          mkdir -p "$making/dm" "$making/slaves" "$folder/sys/dev/block/$below/holders"
          echo "$name" >"$making/dm/name"
          echo "7:$number" >"$making/dev"
          touch "$making/slaves/${device##*/}"
          ln -sfn "$folder/sys/block/dm-$number" "$folder/sys/dev/block/7:$number"
          rm -f "/dev/dm-$number"
          mknod "/dev/dm-$number" b 7 "$number"
          ln -sfn "$folder/sys/block/dm-$number" "$folder/sys/dev/block/$below/holders/dm-$number"
          mv "$making" "$folder/sys/block/dm-$number" ;;
        *" luksClose "*)
          number=$(number) || exit 4
          ! grep -q " 7:$number " /proc/self/mountinfo || exit 5
          losetup -d "/dev/loop$number"
          rm -f "$folder"/sys/dev/block/*/holders/dm-"$number" "$folder/sys/dev/block/7:$number" "/dev/dm-$number"
          rm -rf "$folder/sys/block/dm-$number" ;;
        *" resize "*) losetup -c "/dev/loop$(number)" ;;
        *) exec "$real" "$@" ;;
      esac
      """;

  private final Path folder;

  PlainMapper() {
    try {
      folder = Files.createTempDirectory("mapper");
      Files.createDirectories(folder.resolve("sys/block"));
      Files.createDirectories(folder.resolve("sys/dev/block"));
      Path program = Files.createDirectory(folder.resolve("bin")).resolve("cryptsetup");
      Files.writeString(program, PROGRAM.replace("FOLDER", folder.toString()));
      Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What starts a driver in the place of its program, which it gets as its first argument. */
  List<String> starter() {
    return List.of(
        "env",
        "PATH=" + folder.resolve("bin") + ":" + System.getenv("PATH"),
        "CEPH_CSI_JAVA_OPTS=-D" + MappedDevices.PROPERTY + "=" + folder,
        "sh",
        "-c",
        "shift; exec " + FaultyProgram.program() + " \"$@\"",
        "sh");
  }

  /** Lets formats take the time that they take for users, or not. */
  void slow(boolean on) throws IOException {
    Path file = folder.resolve(SLOW);
    if (on) {
      Files.writeString(file, "");
    } else {
      Files.deleteIfExists(file);
    }
  }

  /** The decrypted devices. */
  List<Path> devices() throws IOException {
    List<Path> devices = new ArrayList<>();
    try (DirectoryStream<Path> all =
        Files.newDirectoryStream(folder.resolve("sys/block"), "dm-*")) {
      for (Path each : all) {
        devices.add(Path.of("/dev").resolve(each.getFileName()));
      }
    }
    return devices;
  }

  /** Whether a format of an image was begun while another one of it was at work. */
  boolean hadFormatsSideBySide() {
    return Files.exists(folder.resolve(OVERLAPS));
  }

  /** Takes away what a test left that failed. */
  @Override
  public void close() throws IOException {
    for (Path device : devices()) {
      String loop = device.toString().replace("/dm-", "/loop");
      new ProcessBuilder("losetup", "-d", loop).inheritIO().start();
      Files.deleteIfExists(device);
    }
  }
}
