package io.cephcsi.driver.grpc;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closes a new connection when a socket has as many as it may have. */
final class ConnectionLimit extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

  private final int limit;
  private final AtomicInteger open = new AtomicInteger();

  ConnectionLimit(int limit) {
    this.limit = limit;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    Channel connection = (Channel) message;
    if (open.incrementAndGet() > limit) {
      open.decrementAndGet();
      LOG.warn("more than {} connections: one is closed", limit);
      connection.unsafe().closeForcibly();
      return;
    }
    connection.closeFuture().addListener(closed -> open.decrementAndGet());
    context.fireChannelRead(message);
  }
}
