package io.cephcsi.driver.grpc;

import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.unix.DomainSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Channels to servers on Unix socket; those of one object share their threads. */
public final class SocketChannels implements AutoCloseable {
  private final EventLoopGroup loops =
      new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());

  /** Opens a channel; connects at the first call. */
  public ManagedChannel open(Path socket) {
    return NettyChannelBuilder.forAddress(new DomainSocketAddress(socket.toFile()))
        .channelType(EpollDomainSocketChannel.class)
        .eventLoopGroup(loops)
        .withOption(ChannelOption.SO_KEEPALIVE, null) // Unix sockets have no such option
        .overrideAuthority("localhost")
        .usePlaintext()
        .build();
  }

  @Override
  public void close() {
    @SuppressWarnings("unused") // nobody waits for idle threads
    var ending = loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
