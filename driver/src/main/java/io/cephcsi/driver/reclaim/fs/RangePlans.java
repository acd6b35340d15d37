package io.cephcsi.driver.reclaim.fs;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The free ranges of several parts of a device, each with a window of its own. All together they
 * take no more memory than one plan may: beyond that the shortest of the largest plan are left out.
 */
final class RangePlans {
  private final List<RangePlan> plans = new ArrayList<>();
  private long bound;

  RangePlans(long bound) {
    this.bound = bound;
  }

  /** Adds a plan, finished or not, whose window no other plan has. */
  RangePlans add(RangePlan plan) {
    plans.add(plan);
    fit();
    return this;
  }

  /** Adds those of a part of the device. */
  void addAll(RangePlans others) {
    others.plans.forEach(this::add);
  }

  /** Keeps to another bound, in bytes, from now on. */
  void fit(long newBound) {
    bound = newBound;
    fit();
  }

  /** What the lists take in memory, in bytes. */
  long encodedBytes() {
    return plans.stream().mapToLong(RangePlan::encodedBytes).sum();
  }

  /** Keeps to the bound; called now and then while plans in the list grow. */
  void fit() {
    while (encodedBytes() > bound) {
      plans.stream()
          .max(Comparator.comparingLong(RangePlan::encodedBytes))
          .ifPresent(RangePlan::dropShortest);
    }
  }

  long bytes() {
    return plans.stream().mapToLong(RangePlan::bytes).sum();
  }

  long omittedBytes() {
    return plans.stream().mapToLong(RangePlan::omittedBytes).sum();
  }

  long count() {
    long[] count = {0};
    forEach(range -> count[0]++);
    return count[0];
  }

  /** Visits the ranges, ascending; those that meet where two windows do are told as one. */
  void forEach(RangeVisitor visitor) {
    Joining joining = new Joining(visitor);
    plans.stream()
        .sorted(Comparator.comparingLong(RangePlan::start))
        .forEach(plan -> plan.forEach(joining));
    joining.flush();
  }

  private static final class Joining implements RangeVisitor {
    private final RangeVisitor visitor;
    private long from;
    private long end;

    Joining(RangeVisitor visitor) {
      this.visitor = visitor;
    }

    @Override
    public void visit(FreeRange range) {
      if (range.offset() != end) {
        flush();
        from = range.offset();
      }
      end = range.end();
    }

    void flush() {
      if (end > from) {
        visitor.visit(new FreeRange(from, end - from));
      }
    }
  }
}
