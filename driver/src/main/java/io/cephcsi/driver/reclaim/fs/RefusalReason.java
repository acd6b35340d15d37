package io.cephcsi.driver.reclaim.fs;

/** Why a device is not trimmed. */
public enum RefusalReason {
  /** The device is encrypted: its free space cannot be seen from outside. */
  ENCRYPTED,
  /** No file system was found. */
  NO_FILE_SYSTEM,
  /** Something is there, but not a file system that this package reads. */
  UNSUPPORTED_CONTENT,
  /** Signatures of more than one format: it is not known which is stale. */
  AMBIGUOUS_CONTENT,
  /** A partition table that is not certain, or is inside of another part of the device. */
  UNSUPPORTED_PARTITIONS,
  /** A feature, version or geometry that this package does not know or has not been tested with. */
  UNSUPPORTED_FEATURE,
  /** The file system was not unmounted cleanly, or is mounted. */
  NOT_CLEAN,
  /** The file system recorded an error: it wants its check program first. */
  HAS_ERRORS,
  /** The journal or log holds changes that are not in place yet. */
  JOURNAL_NOT_EMPTY,
  /** The journal or log is on another device. */
  EXTERNAL_JOURNAL,
  /** Deleted files wait for their blocks to be given back. */
  ORPHANS,
  /** It is in use: multiple-mount protection says so, or a hibernated system has it. */
  IN_USE,
  /** A checksum is wrong. */
  BAD_CHECKSUM,
  /** Counters, maps or pointers contradict each other. */
  INCONSISTENT,
  /** The file system is larger than the device. */
  TRUNCATED,
  /** Reading it takes more memory than the process has for that. */
  TOO_LARGE
}
