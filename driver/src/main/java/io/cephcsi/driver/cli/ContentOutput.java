package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.reclaim.fs.ContentNode;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import java.io.PrintWriter;
import java.util.Locale;

/** What an image holds, part by part, for people and for programs. */
final class ContentOutput {
  private ContentOutput() {}

  /** A line for each part; nothing for an image without parts, of which its own line says all. */
  static void table(PrintWriter out, ContentNode root) {
    if (!root.parts().isEmpty()) {
      lines(out, root, "  ");
    }
  }

  private static void lines(PrintWriter out, ContentNode node, String indent) {
    String name = node.name().isEmpty() ? "" : node.name() + ": ";
    String free =
        node.reason()
            .map(reason -> "not trimmed: " + word(reason) + " (" + node.detail() + ")")
            .orElse("free " + ImageCommand.bytes(node.freeBytes()));
    out.println(
        DriverMain.shown(
            String.format(
                "%s%s%s at %s, %s, %s",
                indent,
                name,
                node.kind().label(),
                ImageCommand.bytes(node.offset()),
                ImageCommand.bytes(node.size()),
                free)));
    node.parts().forEach(part -> lines(out, part, indent + "  "));
  }

  /** Fills an object. */
  static void json(ObjectNode into, ContentNode node) {
    if (!node.name().isEmpty()) {
      into.put("name", node.name());
    }
    into.put("kind", node.kind().name().toLowerCase(Locale.ROOT))
        .put("offset", node.offset())
        .put("sizeBytes", node.size());
    if (node.reason().isEmpty()) {
      into.put("freeBytes", node.freeBytes());
    } else {
      into.put("notReclaimable", word(node.reason().get())).put("detail", node.detail());
    }
    if (!node.parts().isEmpty()) {
      ArrayNode parts = into.putArray("parts");
      node.parts().forEach(part -> json(parts.addObject(), part));
    }
  }

  private static String word(RefusalReason reason) {
    return reason.name().toLowerCase(Locale.ROOT);
  }
}
