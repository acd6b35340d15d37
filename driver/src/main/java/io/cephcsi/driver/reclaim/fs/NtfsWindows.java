package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Locale;

/** Refuses volumes that Windows is going to need in the state they are in. */
final class NtfsWindows {
  private static final String HIBERNATION = "5/hiberfil.sys";

  /** In the names of files that hold shadow copies, and, as bytes, at the head of their list. */
  private static final String SHADOW_COPY = "{3808876b-c176-4e48-b7ae-04046e6cc752}";

  private static final int SHADOW_LIST = 0x1E00;
  private static final long SHADOW_LIST_ID = 0x4E48C1763808876BL;
  private static final int HEADER = 4096;

  private final Device device;
  private final NtfsBoot boot;

  NtfsWindows(Device device, NtfsBoot boot) {
    this.device = device;
    this.boot = boot;
  }

  /**
   * Refuses a volume with shadow copies: what the volume has freed since may belong to them.
   *
   * @param start the first 8 KiB of the device or more
   */
  static void checkShadowCopies(ByteBuffer start) {
    if (start.getLong(SHADOW_LIST) == SHADOW_LIST_ID) {
      throw shadowCopies();
    }
  }

  private static Refusal shadowCopies() {
    return Refusal.unsupported("the volume has shadow copies, which use space that it calls free");
  }

  /** Looks at the names of a record, and at its data when the names ask for it. */
  void check(NtfsRecord record, List<NtfsAttribute> attributes) throws IOException {
    for (NtfsAttribute attribute : attributes) {
      if (attribute.type() == NtfsAttribute.FILE_NAME) {
        Refusal.require(
            attribute.resident(), "record " + record.number() + " has its name elsewhere");
        String name = attribute.fileName().toLowerCase(Locale.ROOT);
        if (name.endsWith(SHADOW_COPY)) {
          throw shadowCopies();
        }
        if (name.equals(HIBERNATION) && !isBlank(attributes)) {
          throw new Refusal(RefusalReason.NOT_CLEAN, "Windows is hibernated, or was not resumed");
        }
      }
    }
  }

  /** Whether a hibernation file, all of it in one record, starts with zeros: it is not in use. */
  private boolean isBlank(List<NtfsAttribute> attributes) throws IOException {
    for (NtfsAttribute data : attributes) {
      if (data.type() == NtfsAttribute.DATA && !data.named() && !data.resident()) {
        NtfsRuns runs = data.runs(boot.clusters);
        if (data.firstCluster() != 0 || runs.count() == 0 || runs.cluster(0) == NtfsRuns.HOLE) {
          return false;
        }
        long at = runs.cluster(0) * boot.clusterSize;
        int length = (int) Math.min(HEADER, runs.length(0) * boot.clusterSize);
        ByteBuffer header = device.read(at, length, ByteOrder.LITTLE_ENDIAN);
        return length == HEADER && header.equals(ByteBuffer.allocate(HEADER));
      }
    }
    return false;
  }
}
