package io.cephcsi.driver.testing;

import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A disk in a file, with a partition table and LVM2 of the real tools, and parts that are files
 * beside it until they are put in. Needs root for LVM2, but no device mapper.
 */
public final class DiskImage {
  private static final int CHUNK = 64 << 10;

  /** So that lvm sees one device alone, keeps nothing outside, and asks no udev. */
  private static final String LVM =
      """
      set -e
      loop=$(losetup -f --show --offset %d --sizelimit %d '%s')
      folder=$(mktemp -d)
      trap 'losetup -d $loop; rm -rf $folder' EXIT
      cat > $folder/lvm.conf <<END
      devices {
        filter=["a|^$loop\\$|","r|.*|"]
        hints="none"
        use_devicesfile=0
        obtain_device_list_from_udev=0
        external_device_info_source="none"
      }
      activation { udev_sync=0 udev_rules=0 monitoring=0 }
      global { use_lvmpolld=0 locking_dir="$folder" }
      backup { backup=0 archive=0 }
      END
      export LVM_SYSTEM_DIR=$folder LVM_SUPPRESS_FD_WARNINGS=1 PV=$loop
      lvcreate() { command lvcreate --driverloaded n -y -an -Zn -Wn "$@" >/dev/null 2>&1; }
      lvremove() { command lvremove --driverloaded n -y "$@" >/dev/null 2>&1; }
      {
      %s
      """;

  private final Path file;
  private final List<Part> parts = new ArrayList<>();

  private DiskImage(Path file) {
    this.file = file;
  }

  /** A range of a part, and where it lies on the disk; in bytes. */
  public record Piece(long part, long disk, long length) {}

  private record Part(Path content, List<Piece> pieces) {}

  /**
   * Makes a disk.
   *
   * @param script makes the table on {@code $DISK}
   */
  public static DiskImage make(Path folder, long bytes, String script) {
    try {
      Path file = Files.createTempFile(folder, "disk", ".img");
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.write(ByteBuffer.wrap(new byte[1]), bytes - 1);
      }
      run("set -e; DISK=" + file + "\n" + script);
      return new DiskImage(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String run(String script) {
    return Commands.run(List.of("bash", "-c", script));
  }

  /** The file. */
  public Path file() {
    return file;
  }

  /** Puts a file at a place of the disk. */
  public List<Piece> add(long offset, Path content) {
    return add(content, List.of(new Piece(0, offset, size(content))));
  }

  private List<Piece> add(Path content, List<Piece> pieces) {
    Part part = new Part(content, pieces);
    parts.add(part);
    copy(part, true);
    return pieces;
  }

  private static long size(Path content) {
    try {
      return Files.size(content);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Makes a physical volume and puts files into its linear logical volumes.
   *
   * @param script has the device as {@code $PV}, and makes the group {@code vg} on it
   * @param contents files by the names of their volumes
   * @return the pieces of each volume, by name
   */
  public Map<String, List<Piece>> addVolumes(
      long offset, long bytes, String script, Map<String, Path> contents) {
    String columns =
        "} >/dev/null; lvs --driverloaded n --noheadings --units b --nosuffix --segments -o"
            + " lv_name,vg_extent_size,seg_start_pe,seg_size_pe,seg_pe_ranges vg 2>/dev/null || true;"
            + " pvs --driverloaded n --noheadings --units b --nosuffix -o pe_start 2>/dev/null";
    String[] lines =
        run(LVM.formatted(offset, bytes, file, script + "\n" + columns)).strip().split("\n", -1);
    long start = offset + Long.parseLong(lines[lines.length - 1].strip());
    Map<String, List<Piece>> volumes = new TreeMap<>();
    for (int i = 0; i < lines.length - 1; i++) {
      String[] words = lines[i].strip().split("[ :-]+", -1);
      long extent = Long.parseLong(words[1]);
      long first = Long.parseLong(words[words.length - 2]);
      volumes
          .computeIfAbsent(words[0], name -> new ArrayList<>())
          .add(
              new Piece(
                  Long.parseLong(words[2]) * extent,
                  start + first * extent,
                  Long.parseLong(words[3]) * extent));
    }
    contents.forEach((name, content) -> add(content, volumes.getOrDefault(name, List.of())));
    return volumes;
  }

  /** Copies what the disk holds back into the files of its parts. */
  public void takeBack() {
    parts.forEach(part -> copy(part, false));
  }

  /** Copies the files of its parts in again. */
  public void putIn() {
    parts.forEach(part -> copy(part, true));
  }

  private void copy(Part part, boolean in) {
    try (FileChannel disk =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        FileChannel content =
            FileChannel.open(part.content, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      long size = content.size();
      for (Piece piece : part.pieces) {
        long length = Math.min(piece.length, size - piece.part);
        if (in) {
          copy(content, piece.part, disk, piece.disk, length);
        } else {
          copy(disk, piece.disk, content, piece.part, length);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void copy(FileChannel from, long at, FileChannel to, long start, long length)
      throws IOException {
    for (long done = 0; done < length; done += CHUNK) {
      int part = (int) Math.min(CHUNK, length - done);
      byte[] source = read(from, at + done, part);
      if (!Arrays.equals(source, read(to, start + done, part))) {
        to.write(ByteBuffer.wrap(source), start + done);
      }
    }
  }

  private static byte[] read(FileChannel from, long at, int length) throws IOException {
    byte[] bytes = new byte[length];
    ByteBuffer into = ByteBuffer.wrap(bytes);
    while (into.hasRemaining()) {
      if (from.read(into, at + into.position()) < 0) {
        throw new IOException("end of file at " + (at + into.position()));
      }
    }
    return bytes;
  }
}
