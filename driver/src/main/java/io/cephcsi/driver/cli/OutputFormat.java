package io.cephcsi.driver.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.volume.Json;
import java.io.PrintWriter;
import java.util.function.Consumer;

/** Forms of output, as the command line spells them. */
enum OutputFormat {
  table,
  json;

  /**
   * Prints in this form.
   *
   * @param asTable prints for people
   * @param asJson fills the object that programs read
   */
  void print(PrintWriter out, Consumer<PrintWriter> asTable, Consumer<ObjectNode> asJson) {
    if (this == table) {
      asTable.accept(out);
    } else {
      ObjectNode root = Json.mapper().createObjectNode();
      asJson.accept(root);
      try {
        out.println(Json.mapper().writerWithDefaultPrettyPrinter().writeValueAsString(root));
      } catch (JsonProcessingException e) {
        throw new IllegalStateException(e); // a tree can always be written
      }
    }
    out.flush();
  }
}
