package io.cephcsi.driver.reclaim.fs;

/** The answer of {@link FileSystems#inspect}. */
public sealed interface Inspection {

  /** What the device holds; of several parts, what the largest does that this answer is about. */
  FileSystemKind kind();

  /**
   * A file system that was proved clean, or several in parts of the device; the free ranges were
   * computed from the metadata that was checked and are held in memory, so that walking them reads
   * nothing and cannot fail half-way.
   *
   * <p>They stay true until the device is written. Immutable and thread-safe.
   */
  final class Clean implements Inspection {
    private final FileSystemKind kind;
    private final int blockSize;
    private final long totalBytes;
    private final RangePlans plans;

    Clean(FileSystemKind kind, int blockSize, long totalBytes, RangePlan plan) {
      this(kind, blockSize, totalBytes, new RangePlans(plan.bound()).add(plan));
    }

    Clean(FileSystemKind kind, int blockSize, long totalBytes, RangePlans plans) {
      this.kind = kind;
      this.blockSize = blockSize;
      this.totalBytes = totalBytes;
      this.plans = plans;
    }

    /** The ranges, for a list that has those of several file systems. */
    RangePlans plans() {
      return plans;
    }

    @Override
    public FileSystemKind kind() {
      return kind;
    }

    /** Bytes in a block of the file system (clusters may be larger); of several, in a sector. */
    public int blockSize() {
      return blockSize;
    }

    /** Size of the file system in bytes (the device may be larger); of several, the device's. */
    public long totalBytes() {
      return totalBytes;
    }

    /** Sum of all ranges that {@link #freeRanges} visits, in bytes. */
    public long freeBytes() {
      return plans.bytes();
    }

    /**
     * Free bytes that are not listed, because the file system has so many free ranges that the
     * shortest were left out to bound memory; 0 nearly always.
     */
    public long omittedBytes() {
      return plans.omittedBytes();
    }

    /** How many ranges {@link #freeRanges} visits. */
    public long rangeCount() {
      return plans.count();
    }

    /** Visits the free ranges, ascending, with used space between any two. Can be repeated. */
    public void freeRanges(RangeVisitor visitor) {
      plans.forEach(visitor);
    }

    @Override
    public String toString() {
      return "clean " + kind.label() + ", " + freeBytes() + " of " + totalBytes + " bytes free";
    }
  }

  /**
   * Nothing may be discarded.
   *
   * @param kind what the device holds, as far as it was understood
   * @param reason the class of reason
   * @param detail a sentence for people
   */
  record Refused(FileSystemKind kind, RefusalReason reason, String detail) implements Inspection {}
}
