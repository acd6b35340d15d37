package io.cephcsi.bindings.rados;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * The reply to a notification ({@code rados_notify2}), little-endian:
 *
 * <pre>
 *   u32 answers · answers * (u64 client · u64 watch · u32 length · answer)
 *   u32 missing · missing * (u64 client · u64 watch)
 * </pre>
 */
final class NotifyReply {
  private NotifyReply() {}

  /** The ids of the clients that answered, once for each watch; none when there is no reply. */
  static List<Long> clients(byte[] reply) {
    List<Long> clients = new ArrayList<>();
    ByteBuffer bytes = ByteBuffer.wrap(reply).order(ByteOrder.LITTLE_ENDIAN);
    for (int left = reply.length == 0 ? 0 : bytes.getInt(); left > 0; left--) {
      clients.add(bytes.getLong());
      bytes.getLong();
      int length = bytes.getInt();
      bytes.position(bytes.position() + length);
    }
    return clients;
  }
}
