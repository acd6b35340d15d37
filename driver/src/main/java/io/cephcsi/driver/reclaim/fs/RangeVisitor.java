package io.cephcsi.driver.reclaim.fs;

/** Receives free ranges one by one. */
@FunctionalInterface
public interface RangeVisitor {

  /** Called for each range; what it throws ends the walk and reaches the caller. */
  void visit(FreeRange range);
}
