package io.cephcsi.driver.reclaim.fs;

/**
 * The first four sectors of an allocation group: superblock copy (not looked at), AGF (free space),
 * AGI (inodes), AGFL (blocks kept for the free-space trees, which are used, not free).
 */
final class XfsGroupHeader {
  private static final int AGF_MAGIC = 0x58414746;
  private static final int AGI_MAGIC = 0x58414749;
  private static final int AGFL_MAGIC = 0x5841464C;
  private static final int VERSION = 1;
  private static final int UNLINKED_LISTS = 64;
  private static final int DEEPEST_TREE = 9;

  private final XfsVolume volume;
  private final int group;
  private final int length;
  private final XfsFields agf;
  private final XfsFields agi;
  private final XfsFields agfl;
  private final boolean v5;

  /**
   * @param sectors four sectors from the start of the group
   */
  XfsGroupHeader(XfsVolume volume, int group, XfsFields sectors) {
    int sector = volume.superblock.sectorSize;
    this.volume = volume;
    this.group = group;
    this.length = volume.superblock.length(group);
    this.agf = sectors.part(sector, sector);
    this.agi = sectors.part(2 * sector, sector);
    this.agfl = sectors.part(3 * sector, sector);
    this.v5 = volume.superblock.features().v5();
    checkAgf();
    checkAgi();
    if (v5) {
      prove(agfl, "AGFL", 32, 8, 24);
      require(agfl.u32(0) == AGFL_MAGIC && agfl.u32(4) == group, "AGFL");
    }
  }

  private void checkAgf() {
    require(agf.u32(0) == AGF_MAGIC && agf.u32(4) == VERSION, "AGF");
    if (v5) {
      prove(agf, "AGF", 216, 64, 208);
    }
    require(agf.u32(8) == group && agf.u32(12) == length, "AGF");
    require(freeBlocks() < length && longest() <= freeBlocks(), "AGF");
    require(levelFits(agf.u32(28)) && levelFits(agf.u32(32)), "AGF");
  }

  private static boolean levelFits(int levels) {
    return levels >= 1 && levels <= DEEPEST_TREE;
  }

  private void checkAgi() {
    require(agi.u32(0) == AGI_MAGIC && agi.u32(4) == VERSION, "AGI");
    if (v5) {
      prove(agi, "AGI", 312, 296, 320);
    }
    require(agi.u32(8) == group && agi.u32(12) == length && freeInodes() <= inodes(), "AGI");
    for (int list = 0; list < UNLINKED_LISTS; list++) {
      if (agi.u32(40 + 4 * list) != -1) {
        throw new Refusal(
            RefusalReason.ORPHANS, "allocation group " + group + " has deleted inodes to free");
      }
    }
  }

  private void prove(XfsFields part, String name, int checksum, int uuid, int position) {
    if (!part.checksumAt(checksum)) {
      throw Refusal.checksum(name + " " + group);
    }
    require(volume.superblock.owns(part.uuid(uuid)), name);
    volume.noteChange(part.u64(position));
  }

  private void require(boolean holds, String name) {
    if (!holds) {
      throw Refusal.inconsistent(name + " " + group + " is damaged");
    }
  }

  long freeBlocks() {
    return agf.number(52);
  }

  long longest() {
    return agf.number(56);
  }

  /** Blocks of the free-space trees (and the reverse map) without their roots. */
  long treeBlocks() {
    return agf.number(60);
  }

  /** Blocks of the reverse map with its root; only where there is one. */
  long reverseMapBlocks() {
    return agf.number(80);
  }

  int byBlockRoot() {
    return agf.u32(16);
  }

  int byBlockLevels() {
    return agf.u32(28);
  }

  int bySizeRoot() {
    return agf.u32(20);
  }

  int bySizeLevels() {
    return agf.u32(32);
  }

  int inodeRoot() {
    return agi.u32(20);
  }

  long inodes() {
    return agi.number(16);
  }

  long freeInodes() {
    return agi.number(28);
  }

  /** How many blocks are on the free list. */
  int reservedCount() {
    return agf.u32(48);
  }

  /** The blocks on the free list. */
  int[] reserved() {
    int header = v5 ? 36 : 0;
    int slots = (agfl.length() - header) / 4;
    int first = agf.u32(40);
    int last = agf.u32(44);
    int count = reservedCount();
    require(first >= 0 && first < slots && last >= 0 && last < slots, "free list");
    require(
        count >= 0 && count <= slots && Math.floorMod(last - first + 1, slots) == count % slots,
        "free list");
    int[] blocks = new int[count];
    for (int i = 0; i < count; i++) {
      blocks[i] = agfl.u32(header + 4 * ((first + i) % slots));
    }
    return blocks;
  }
}
