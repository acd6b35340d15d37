package io.cephcsi.driver.metrics;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP server of one thread that no client can hold up: it never waits for one, has few
 * connections, of which the oldest makes room for a new one, and ends each after an answer or ten
 * seconds. Thread-safe.
 */
public final class MetricsServer implements AutoCloseable {
  static final int CONNECTIONS = 32;
  static final int HEAD_BYTES = 4096;

  private static final Logger LOG = LoggerFactory.getLogger(MetricsServer.class);
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long CHECK_MILLIS = 1000;
  private static final String END_OF_HEAD = "\r\n\r\n";

  private final Function<String, byte[]> page;
  private final Selector selector;
  private final ServerSocketChannel listener;
  private final Thread thread = new Thread(this::run, "metrics");

  /** From the oldest on; of the server's thread only. */
  private final Set<Connection> connections = new LinkedHashSet<>();

  private MetricsServer(
      Function<String, byte[]> page, Selector selector, ServerSocketChannel listener) {
    this.page = page;
    this.selector = selector;
    this.listener = listener;
  }

  /**
   * Listens.
   *
   * @param page the whole answer to the head of a request; it must not block
   */
  static MetricsServer start(InetSocketAddress address, Function<String, byte[]> page)
      throws IOException {
    if (address.isUnresolved()) {
      throw new IOException("the address is not known");
    }
    Selector selector = Selector.open();
    ServerSocketChannel listener = null;
    try {
      listener = ServerSocketChannel.open();
      listener.bind(address, CONNECTIONS);
      listener.configureBlocking(false);
      listener.register(selector, SelectionKey.OP_ACCEPT);
    } catch (IOException e) {
      selector.close();
      if (listener != null) {
        listener.close();
      }
      throw e;
    }
    MetricsServer server = new MetricsServer(page, selector, listener);
    server.thread.setDaemon(true);
    server.thread.start();
    return server;
  }

  /** The port it listens on. */
  public int port() throws IOException {
    return ((InetSocketAddress) listener.getLocalAddress()).getPort();
  }

  private void run() {
    try {
      while (selector.isOpen()) {
        selector.select(CHECK_MILLIS);
        for (SelectionKey key : selector.selectedKeys()) {
          if (key.attachment() instanceof Connection connection) {
            connection.goOn();
          } else {
            accept();
          }
        }
        selector.selectedKeys().clear();
        endLate();
      }
    } catch (ClosedSelectorException closed) {
      // close was called
    } catch (IOException | RuntimeException e) {
      LOG.error("the metrics server failed: restart the driver to serve metrics", e);
    } finally {
      Set.copyOf(connections).forEach(Connection::end);
    }
  }

  private void accept() throws IOException {
    SocketChannel channel;
    try {
      channel = listener.accept();
    } catch (IOException e) {
      LOG.warn("cannot accept a connection for metrics", e);
      pause(); // it is tried again at once
      return;
    }
    if (channel == null) {
      return;
    }
    if (connections.size() >= CONNECTIONS) {
      connections.iterator().next().end();
    }
    channel.configureBlocking(false);
    Connection connection = new Connection(channel);
    channel.register(selector, SelectionKey.OP_READ, connection);
    connections.add(connection);
  }

  private static void pause() {
    try {
      Thread.sleep(100);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void endLate() {
    long now = System.nanoTime();
    for (Iterator<Connection> oldest = connections.iterator(); oldest.hasNext(); ) {
      Connection connection = oldest.next();
      if (now - connection.begin < PATIENCE.toNanos()) {
        return; // those behind it are younger
      }
      oldest.remove();
      connection.end();
    }
  }

  /** Ends the server and its connections. */
  @Override
  public void close() {
    try {
      listener.close();
      selector.close();
      thread.join(PATIENCE.toMillis());
    } catch (IOException e) {
      LOG.warn("closing the metrics failed", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** One request and its answer. */
  private final class Connection {
    private final SocketChannel channel;
    private final long begin = System.nanoTime();
    private final ByteBuffer head = ByteBuffer.allocate(HEAD_BYTES);
    private ByteBuffer answer = ByteBuffer.allocate(0);

    Connection(SocketChannel channel) {
      this.channel = channel;
    }

    void goOn() {
      try {
        if (!answer.hasRemaining() && !read()) {
          return;
        }
        channel.write(answer);
        if (answer.hasRemaining()) {
          channel.register(selector, SelectionKey.OP_WRITE, this);
        } else {
          end();
        }
      } catch (IOException | RuntimeException e) {
        LOG.debug("a connection for metrics failed", e);
        end();
      }
    }

    /** Whether there is an answer now. */
    private boolean read() throws IOException {
      int read = channel.read(head);
      String text = new String(head.array(), 0, head.position(), ISO_8859_1);
      if (text.contains(END_OF_HEAD)) {
        answer = ByteBuffer.wrap(page.apply(text));
        return true;
      }
      if (read < 0 || !head.hasRemaining()) {
        end();
      }
      return false;
    }

    void end() {
      connections.remove(this);
      try {
        channel.close();
      } catch (IOException e) {
        LOG.debug("closing a connection for metrics failed", e);
      }
    }
  }
}
