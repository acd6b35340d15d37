package io.cephcsi.driver.cli;

import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.PoolPlan;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Hands out the images of a plan, in its order, until the budget is used up: what was discarded,
 * and what is estimated of the images that are worked on. The last image may exceed it. Safe for
 * several threads.
 */
final class PoolQueue {
  private final Deque<ImageEstimate> images;
  private final OptionalLong budget;
  private long spent;
  private long begun;
  private boolean stopped;

  /**
   * @param images those that are to be worked on
   * @param budget in bytes; empty for no bound
   * @param spent what of it earlier runs have used
   */
  PoolQueue(List<ImageEstimate> images, OptionalLong budget, long spent) {
    this.images = new ArrayDeque<>(images);
    this.budget = budget;
    this.spent = spent;
  }

  /**
   * The next image; waits while only what others work on may use up the budget.
   *
   * @return empty when none is left, the budget is used up, or the queue was stopped
   */
  synchronized Optional<ImageEstimate> next() {
    while (!images.isEmpty() && !stopped && begun > 0 && isOver(PoolPlan.sum(spent, begun))) {
      try {
        wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return Optional.empty();
      }
    }
    if (images.isEmpty() || stopped || isOver(spent)) {
      return Optional.empty();
    }
    ImageEstimate next = images.remove();
    begun = PoolPlan.sum(begun, next.bytes());
    return Optional.of(next);
  }

  private boolean isOver(long bytes) {
    return budget.isPresent() && bytes >= budget.getAsLong();
  }

  /**
   * Counts an image that is not worked on any more.
   *
   * @param discarded how much was discarded
   */
  synchronized void ended(ImageEstimate image, long discarded) {
    begun -= image.bytes();
    spent = PoolPlan.sum(spent, discarded);
    notifyAll();
  }

  /** Hands out no more. */
  synchronized void stop() {
    stopped = true;
    notifyAll();
  }

  /** How many images were not handed out. */
  synchronized int left() {
    return images.size();
  }

  /** Whether images are left because of the budget. */
  synchronized boolean isUsedUp() {
    return !images.isEmpty() && isOver(spent);
  }
}
