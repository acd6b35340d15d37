package io.cephcsi.driver.reclaim.fs;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * A part of a device and what it holds: a file system, or something with parts of its own. The root
 * is the device itself. Immutable and thread-safe.
 *
 * @param name such as {@code partition 2} or {@code group/volume}; empty for the device itself
 * @param kind what it holds
 * @param offset where it starts on the device, in bytes; of a logical volume where its first extent
 *     does
 * @param size in bytes
 * @param freeBytes what its file systems do not use, in bytes; 0 where that is not known
 * @param reason why a file system, or a table of parts, was not understood; empty for what was, and
 *     for what has parts
 * @param detail the same as a sentence for people; empty with {@code reason}
 * @param parts in the order of their numbers or, logical volumes, as the metadata lists them
 */
public record ContentNode(
    String name,
    FileSystemKind kind,
    long offset,
    long size,
    long freeBytes,
    Optional<RefusalReason> reason,
    String detail,
    List<ContentNode> parts) {

  /** Copies the parts. */
  public ContentNode {
    parts = List.copyOf(parts);
  }

  /** A node without parts. */
  static ContentNode leaf(String name, long offset, long size, Inspection inspection) {
    if (inspection instanceof Inspection.Refused refused) {
      return new ContentNode(
          name,
          refused.kind(),
          offset,
          size,
          0,
          Optional.of(refused.reason()),
          refused.detail(),
          List.of());
    }
    Inspection.Clean clean = (Inspection.Clean) inspection;
    long free = clean.freeBytes() + clean.omittedBytes();
    return new ContentNode(name, clean.kind(), offset, size, free, Optional.empty(), "", List.of());
  }

  /** A node with parts. */
  static ContentNode of(
      String name, FileSystemKind kind, long offset, long size, List<ContentNode> parts) {
    long free = parts.stream().mapToLong(ContentNode::freeBytes).sum();
    return new ContentNode(name, kind, offset, size, free, Optional.empty(), "", parts);
  }

  /** The content of an encrypted device, as a part of it. */
  public static ContentNode encrypted(long size, ContentNode decrypted, long dataOffset) {
    return of("", FileSystemKind.LUKS, 0, size, List.of(decrypted.moved("decrypted", dataOffset)));
  }

  /**
   * Whether it is a swap area that is not in use, and nothing else. Nothing on the device then
   * tells whether the system that has swapped to it is gone, or suspended with its memory
   * elsewhere.
   */
  public boolean isSwapAlone() {
    return parts.isEmpty() && kind == FileSystemKind.SWAP && reason.isEmpty();
  }

  private ContentNode moved(String newName, long by) {
    List<ContentNode> moved = parts.stream().map(part -> part.moved(part.name, by)).toList();
    return new ContentNode(newName, kind, offset + by, size, freeBytes, reason, detail, moved);
  }

  /** The same, with nothing free in parts of some kinds for a reason. */
  ContentNode refused(RefusalReason why, String because, Predicate<FileSystemKind> which) {
    List<ContentNode> refused =
        parts.stream().map(part -> part.refused(why, because, which)).toList();
    boolean gives = parts.isEmpty() && reason.isEmpty() && which.test(kind);
    long free = parts.isEmpty() ? freeBytes : refused.stream().mapToLong(p -> p.freeBytes).sum();
    return new ContentNode(
        name,
        kind,
        offset,
        size,
        gives ? 0 : free,
        gives ? Optional.of(why) : reason,
        gives ? because : detail,
        refused);
  }

  /** Those without parts of their own: this one, or those inside of it. */
  public List<ContentNode> leaves() {
    if (parts.isEmpty()) {
      return List.of(this);
    }
    List<ContentNode> leaves = new ArrayList<>();
    parts.forEach(part -> leaves.addAll(part.leaves()));
    return leaves;
  }

  /** The kinds of file systems whose free ranges are known, for people. */
  public String understood() {
    return leaves().stream()
        .filter(leaf -> leaf.reason.isEmpty())
        .map(leaf -> leaf.kind.label())
        .distinct()
        .collect(Collectors.joining(", "));
  }
}
