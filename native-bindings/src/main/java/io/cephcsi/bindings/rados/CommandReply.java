package io.cephcsi.bindings.rados;

import java.nio.charset.StandardCharsets;

/**
 * What a monitor or manager answered to a command.
 *
 * @param output the output as the command printed it, JSON when {@code "format": "json"} was asked
 * @param status the status line, often empty
 */
@SuppressWarnings("ArrayRecordComponent") // handed on as it came, never compared
public record CommandReply(byte[] output, String status) {
  /** The output as UTF-8 text. */
  public String text() {
    return new String(output, StandardCharsets.UTF_8);
  }
}
