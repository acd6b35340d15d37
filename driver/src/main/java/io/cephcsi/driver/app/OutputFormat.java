package io.cephcsi.driver.app;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.util.function.Consumer;

/** Forms of output, as the command line spells them. */
enum OutputFormat {
  table,
  json;

  private static final ObjectMapper JSON = new ObjectMapper();

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
      ObjectNode root = JSON.createObjectNode();
      asJson.accept(root);
      try {
        out.println(JSON.writerWithDefaultPrettyPrinter().writeValueAsString(root));
      } catch (JsonProcessingException e) {
        throw new IllegalStateException(e); // a tree can always be written
      }
    }
    out.flush();
  }
}
