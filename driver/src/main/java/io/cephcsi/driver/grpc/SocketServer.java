package io.cephcsi.driver.grpc;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A gRPC server on one Unix socket, with health and reflection beside its services. */
public final class SocketServer implements AutoCloseable {
  /** The longest path that a Unix socket can have on Linux, in bytes. */
  private static final int MAX_SOCKET_PATH = 107;

  private static final Logger LOG = LoggerFactory.getLogger(SocketServer.class);

  /**
   * The largest request, in bytes. The largest that a caller has reason to make are those with a
   * thousand volumes of a group or a thousand topologies, of some 130 bytes each.
   */
  static final int MAX_REQUEST = 256 << 10;

  /** What a connection may send before a call takes it: the default of HTTP/2. */
  private static final int WINDOW = 65535;

  /** More than work waits in the queues of a cluster; a client waits with further calls. */
  private static final int CALLS_PER_CONNECTION = 1024;

  private static final int CONNECTIONS = 256;

  private static final int FILE_TYPE = 0170000; // S_IFMT
  private static final int SOCKET_TYPE = 0140000; // S_IFSOCK

  private final Path socket;
  private final Server server;
  private final HealthStatusManager health = new HealthStatusManager();
  private final EventLoopGroup loops;
  private final ExecutorService executor;

  private SocketServer(
      Path socket,
      String driverName,
      List<BindableService> services,
      DriverMetrics metrics,
      MemoryBudget budget) {
    this.socket = socket;
    this.loops = new MultiThreadIoEventLoopGroup(2, EpollIoHandler.newFactory());
    // Services hand work to the pools of the clusters: two threads decode and answer.
    this.executor = Executors.newFixedThreadPool(2, SocketServer::thread);
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new DomainSocketAddress(socket.toFile()))
            .channelFactory(SocketServer::listener)
            .bossEventLoopGroup(loops)
            .workerEventLoopGroup(loops)
            .withChildOption(ChannelOption.SO_KEEPALIVE, null) // Unix sockets have no such option
            .executor(executor)
            .maxInboundMessageSize(MAX_REQUEST)
            .flowControlWindow(WINDOW)
            .maxConcurrentCallsPerConnection(CALLS_PER_CONNECTION)
            .handshakeTimeout(10, TimeUnit.SECONDS)
            .addStreamTracerFactory(RequestBytes.factory(budget))
            .intercept(
                new CallGuard(
                    loops, (method, code, took) -> metrics.call(driverName, method, code, took)))
            .addService(health.getHealthService())
            .addService(ProtoReflectionServiceV1.newInstance());
    CallInterceptor interceptor = new CallInterceptor(driverName, metrics);
    // As bytes they come to the guard, which sees when they are no message of the method.
    services.forEach(
        s ->
            builder.addService(
                ServerInterceptors.useInputStreamMessages(
                    ServerInterceptors.intercept(s, interceptor))));
    this.server = builder.build();
  }

  private static ServerChannel listener() {
    EpollServerDomainSocketChannel listener = new EpollServerDomainSocketChannel();
    listener.pipeline().addLast(new ConnectionLimit(CONNECTIONS));
    return listener;
  }

  private static Thread thread(Runnable task) {
    Thread thread = DaemonThreads.of("grpc", task);
    thread.setUncaughtExceptionHandler(
        (ended, e) -> LOG.error("a thread of the gRPC server failed; a new one replaces it", e));
    return thread;
  }

  /**
   * Listens on a socket. A socket file without a server is replaced.
   *
   * @param budget what the requests of all servers of the process may take
   * @throws IOException when another process serves it, or the path cannot be used
   */
  public static SocketServer start(
      Path socket,
      String driverName,
      List<BindableService> services,
      DriverMetrics metrics,
      MemoryBudget budget)
      throws IOException {
    prepare(socket);
    SocketServer server = new SocketServer(socket, driverName, services, metrics, budget);
    try {
      server.server.start();
    } catch (IOException e) {
      server.close();
      throw new IOException("cannot listen on " + socket + ": " + rootMessage(e), e);
    }
    server.health.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, ServingStatus.SERVING);
    return server;
  }

  private static String rootMessage(Throwable e) {
    Throwable root = e;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return String.valueOf(root.getMessage());
  }

  private static void prepare(Path socket) throws IOException {
    if (socket.toString().getBytes(UTF_8).length > MAX_SOCKET_PATH) {
      throw new IOException(
          "the socket path " + socket + " is longer than " + MAX_SOCKET_PATH + " bytes");
    }
    Path folder = socket.toAbsolutePath().getParent();
    if (folder != null && !Files.isDirectory(folder)) { // it may be a link to one
      Files.createDirectories(folder);
    }
    if (!Files.exists(socket, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    int mode = (Integer) Files.getAttribute(socket, "unix:mode", LinkOption.NOFOLLOW_LINKS);
    if ((mode & FILE_TYPE) != SOCKET_TYPE) {
      throw new IOException(
          socket + " exists and is not a socket: remove it, or choose another path");
    }
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      // A process that is stopped takes no connections: with a full queue a connect would wait.
      channel.configureBlocking(false);
      channel.connect(UnixDomainSocketAddress.of(socket));
    } catch (ConnectException nobodyThere) {
      Files.deleteIfExists(socket);
      return;
    } catch (SocketException queueIsFull) {
      throw new IOException(
          "another process serves " + socket + ", and takes no connections", queueIsFull);
    }
    throw new IOException("another process serves " + socket);
  }

  /** The socket's path. */
  public Path socket() {
    return socket;
  }

  /** Refuses new calls; those that run go on. */
  public void refuse() {
    health.enterTerminalState();
    server.shutdown();
  }

  /**
   * Waits until the calls that run have been answered.
   *
   * @return whether all were in time
   */
  public boolean awaitAnswers(long timeout, TimeUnit unit) throws InterruptedException {
    return server.awaitTermination(timeout, unit);
  }

  /** Ends the server, and with it the calls that still run. */
  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    @SuppressWarnings("unused") // its threads are daemons of a process that ends
    var ending = loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    executor.shutdown();
  }
}
