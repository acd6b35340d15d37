package io.cephcsi.bindings.rados;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class NotifyReplyTest {
  @Test
  void whoAnsweredIsReadAndWhoDidNotIsLeftOut() {
    ByteBuffer reply = ByteBuffer.allocate(200).order(ByteOrder.LITTLE_ENDIAN);
    reply.putInt(2);
    reply.putLong(4711).putLong(1).putInt(3).put(new byte[] {9, 9, 9});
    reply.putLong(4712).putLong(2).putInt(0);
    reply.putInt(1).putLong(4713).putLong(3);
    assertThat(NotifyReply.clients(Arrays.copyOf(reply.array(), reply.position())))
        .containsExactly(4711L, 4712L);
  }

  @Test
  void nobodyAnswered() {
    assertThat(NotifyReply.clients(new byte[8])).isEmpty();
    assertThat(NotifyReply.clients(new byte[0])).isEmpty();
  }
}
