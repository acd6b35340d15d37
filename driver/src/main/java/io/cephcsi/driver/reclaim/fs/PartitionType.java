package io.cephcsi.driver.reclaim.fs;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What the type of a partition says of its use, where that is more than "a file system". What is
 * found in such a partition may be left from before, or be a part of something larger.
 */
enum PartitionType {
  /** Anything else: what the partition holds decides. */
  PLAIN(""),
  /** Of a dynamic disk of Windows: its partitions are not what the volumes lie on. */
  DYNAMIC("a part of a dynamic disk"),
  RAID("a member of a Linux RAID"),
  STORAGE_SPACES("a part of Storage Spaces"),
  VMWARE("for VMware"),
  BSD("for a BSD system, with a label of its own"),
  SOLARIS("for Solaris or ZFS"),
  APPLE("for an Apple system"),
  HIBERNATION("for the memory of a hibernated system"),
  ENCRYPTED("for dm-crypt without a header"),
  CEPH("for a Ceph OSD"),
  /** Of a BIOS, PReP, or Windows' own: nobody mounts it. */
  BOOT("for a boot loader");

  private static final Map<Integer, PartitionType> OF_MBR =
      Map.ofEntries(
          Map.entry(0x42, DYNAMIC),
          Map.entry(0x84, HIBERNATION),
          Map.entry(0xA0, HIBERNATION),
          Map.entry(0xA1, HIBERNATION),
          Map.entry(0xA5, BSD),
          Map.entry(0xA6, BSD),
          Map.entry(0xA8, APPLE),
          Map.entry(0xA9, BSD),
          Map.entry(0xAB, APPLE),
          Map.entry(0xAC, APPLE),
          Map.entry(0xAF, APPLE),
          Map.entry(0xB7, BSD),
          Map.entry(0xBE, SOLARIS),
          Map.entry(0xBF, SOLARIS),
          Map.entry(0xE7, STORAGE_SPACES),
          Map.entry(0xFB, VMWARE),
          Map.entry(0xFC, VMWARE),
          Map.entry(0xFD, RAID));

  /** The beginning and the end of a GUID: systems have their own families of them. */
  private record Family(String begin, String end, PartitionType type) {
    boolean has(String guid) {
      return guid.startsWith(begin) && guid.endsWith(end);
    }
  }

  private static final List<Family> OF_GPT =
      List.of(
          new Family("5808c8aa-7e8f-42e0-85d2-e1e90434cfb3", "", DYNAMIC),
          new Family("af9b60a0-1431-4f62-bc68-3311714a69ad", "", DYNAMIC),
          new Family("a19d880f-05fc-4d3b-a006-743f0f84911e", "", RAID),
          new Family("e75caf8f-f680-4cee-afa3-b001e56efc2d", "", STORAGE_SPACES),
          new Family("558d43c5-a1ac-43c0-aac8-d1472b2923d1", "", STORAGE_SPACES),
          new Family("", "-000c2911d1b8", VMWARE),
          new Family("516e7c", "-6ecf-11d6-8ff8-00022d09712b", BSD),
          new Family("", "-b10e-11dc-b99b-0019d1879648", BSD),
          new Family("2db519", "-b10f-11dc-b99b-0019d1879648", BSD),
          new Family("824cc7a0-36a8-11e3-890a-952519ad3f61", "", BSD),
          new Family("6a", "-1dd2-11b2-99a6-080020736631", SOLARIS),
          new Family("", "-11aa-aa11-00306543ecac", APPLE),
          new Family("7ffec5c9-2d00-49b7-8941-3ea10a5586b7", "", ENCRYPTED),
          new Family("4fbd7e29-", "", CEPH),
          new Family("45b0969e-", "", CEPH),
          new Family("30cd0809-", "", CEPH),
          new Family("cafecafe-", "", CEPH),
          new Family("21686148-6449-6e6f-744e-656564454649", "", BOOT),
          new Family("9e1a2d38-c612-4316-aa26-8b49521e5a8b", "", BOOT),
          new Family("e3c9e316-0b5c-4db8-817d-f92df00215ae", "", BOOT));

  private final String use;

  PartitionType(String use) {
    this.use = use;
  }

  /** For people, fit for "the partition is ...". */
  String use() {
    return use;
  }

  static PartitionType ofMbr(int type) {
    return OF_MBR.getOrDefault(type, PLAIN);
  }

  /**
   * @param first the first eight bytes of the GUID, as a little-endian number
   * @param second the others, likewise
   */
  static PartitionType ofGpt(long first, long second) {
    long end = Long.reverseBytes(second);
    String guid =
        String.format(
            Locale.ROOT,
            "%08x-%04x-%04x-%04x-%012x",
            first & 0xffffffffL,
            first >>> 32 & 0xffff,
            first >>> 48,
            end >>> 48,
            end & 0xffffffffffffL);
    return OF_GPT.stream()
        .filter(family -> family.has(guid))
        .map(Family::type)
        .findFirst()
        .orElse(PLAIN);
  }
}
