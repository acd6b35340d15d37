package io.cephcsi.driver.reclaim.fs;

/** The answer of {@link FileSystems#inspect}. */
public sealed interface Inspection {

  /** What the device holds. */
  FileSystemKind kind();

  /**
   * A file system that was proved clean; its free ranges were computed from the metadata that was
   * checked and are held in memory, so that walking them reads nothing and cannot fail half-way.
   *
   * <p>They stay true until the device is written. Immutable and thread-safe.
   */
  final class Clean implements Inspection {
    private final FileSystemKind kind;
    private final int blockSize;
    private final long totalBytes;
    private final RangePlan plan;

    Clean(FileSystemKind kind, int blockSize, long totalBytes, RangePlan plan) {
      this.kind = kind;
      this.blockSize = blockSize;
      this.totalBytes = totalBytes;
      this.plan = plan;
    }

    @Override
    public FileSystemKind kind() {
      return kind;
    }

    /** Bytes in a block of the file system; clusters may be larger. */
    public int blockSize() {
      return blockSize;
    }

    /** Size of the file system in bytes; the device may be larger. */
    public long totalBytes() {
      return totalBytes;
    }

    /** Sum of all ranges that {@link #freeRanges} visits, in bytes. */
    public long freeBytes() {
      return plan.bytes();
    }

    /**
     * Free bytes that are not listed, because the file system has so many free ranges that the
     * shortest were left out to bound memory; 0 nearly always.
     */
    public long omittedBytes() {
      return plan.omittedBytes();
    }

    /** How many ranges {@link #freeRanges} visits. */
    public long rangeCount() {
      return plan.count();
    }

    /** Visits the free ranges, ascending, with used space between any two. Can be repeated. */
    public void freeRanges(RangeVisitor visitor) {
      plan.forEach(visitor);
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
