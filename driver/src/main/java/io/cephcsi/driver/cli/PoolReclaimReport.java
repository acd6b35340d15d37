package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.reclaim.Discarded;
import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.PoolPlan;
import io.cephcsi.driver.volume.PlainText;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToLongFunction;

/**
 * A run over a pool, for people and for programs.
 *
 * @param pool the pool and namespace, as they were given
 * @param plan what was to be done
 * @param state what became of it
 * @param seconds how long this run took
 * @param left why images of the plan were not begun: stopped, budget, or empty
 */
record PoolReclaimReport(String pool, PoolPlan plan, PoolState state, double seconds, String left) {
  private static final int NAME = 200; // characters of a name, which others wrote
  private static final int DETAIL = 500;

  private long total(ToLongFunction<PoolOutcome> part) {
    return plan.chosen().stream()
        .flatMap(image -> state.outcome(image).stream())
        .mapToLong(part)
        .reduce(0, PoolPlan::sum);
  }

  private static String shown(String name) {
    return PlainText.escape(name, NAME);
  }

  void table(PrintWriter out) {
    int width =
        plan.chosen().stream().mapToInt(image -> shown(image.name()).length()).max().orElse(0);
    String line = "%-" + Math.max(width, "IMAGE".length()) + "s %11s %11s %8s  %s%n";
    out.printf(line, "IMAGE", "RECLAIMABLE", "INSIDE", "OBJECTS", "RESULT");
    for (ImageEstimate image : plan.chosen()) {
      Discarded discarded = image.trim().discarded();
      out.printf(
          line,
          shown(image.name()),
          ImageCommand.bytes(discarded.bytes()),
          ImageCommand.bytes(discarded.insideBytes()),
          Long.toString(discarded.objects()),
          state.outcome(image).map(PoolReclaimReport::text).orElse("not begun"));
    }
    String reason = "";
    for (PoolPlan.Left each : plan.left()) {
      if (!each.reason().equals(reason)) {
        reason = each.reason();
        out.println("not reclaimed: " + PlainText.escape(reason, NAME));
      }
      String detail = PlainText.escape(each.detail(), DETAIL);
      out.println("  " + shown(each.image().name()) + ": " + detail);
    }
    out.printf(
        Locale.ROOT,
        "%s: %d images, %s reclaimable; %s (%d objects) freed, %s discarded, %s of it inside objects"
            + " that stay; %.1f s%s%n",
        shown(pool),
        plan.chosen().size(),
        ImageCommand.bytes(plan.bytes()),
        ImageCommand.bytes(total(PoolOutcome::freedBytes)),
        total(PoolOutcome::freedObjects),
        ImageCommand.bytes(total(PoolOutcome::discardedBytes)),
        ImageCommand.bytes(total(PoolOutcome::insideBytes)),
        seconds,
        left.isEmpty() ? "" : "; images are left: " + left);
  }

  private static String text(PoolOutcome outcome) {
    String freed =
        String.format(
            Locale.ROOT,
            "%s freed (%d objects), %s discarded inside objects that stay",
            ImageCommand.bytes(outcome.freedBytes()),
            outcome.freedObjects(),
            ImageCommand.bytes(outcome.insideBytes()));
    String what = outcome.kind().word().replace('_', ' ');
    String why =
        outcome.reason().isEmpty()
            ? what
            : what + ": " + PlainText.escape(outcome.reason(), DETAIL);
    return outcome.discardedBytes() > 0 || outcome.kind() == PoolOutcome.Kind.DONE
        ? why + "; " + freed
        : why;
  }

  void json(ObjectNode root) {
    root.put("pool", pool);
    ArrayNode images = ImageCommand.imagesOf(root);
    for (ImageEstimate image : plan.chosen()) {
      Discarded discarded = image.trim().discarded();
      ObjectNode node =
          images
              .addObject()
              .put("name", image.name())
              .put("id", image.id())
              .put("fileSystem", image.trim().fileSystem())
              .put("reclaimableBytes", discarded.bytes())
              .put("reclaimableObjects", discarded.objects())
              .put("reclaimableInsideObjectsBytes", discarded.insideBytes());
      Optional<PoolOutcome> outcome = state.outcome(image);
      node.put("outcome", outcome.map(o -> o.kind().word()).orElse("not_begun"));
      outcome.ifPresent(
          o -> {
            node.put("reason", o.reason());
            put(node, o.freedBytes(), o.freedObjects(), o.discardedBytes(), o.insideBytes());
          });
    }
    ArrayNode others = root.putArray("notReclaimed");
    for (PoolPlan.Left each : plan.left()) {
      others
          .addObject()
          .put("name", each.image().name())
          .put("id", each.image().id())
          .put("reason", each.reason())
          .put("detail", each.detail());
    }
    root.put("reclaimableBytes", plan.bytes());
    put(
        root,
        total(PoolOutcome::freedBytes),
        total(PoolOutcome::freedObjects),
        total(PoolOutcome::discardedBytes),
        total(PoolOutcome::insideBytes));
    root.put("left", left).put("seconds", seconds);
  }

  private static void put(ObjectNode node, long freed, long objects, long bytes, long inside) {
    node.put("freedBytes", freed)
        .put("freedObjects", objects)
        .put("discardedBytes", bytes)
        .put("discardedInsideObjectsBytes", inside);
  }
}
