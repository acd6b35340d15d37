package io.cephcsi.driver.node.attach;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.volume.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Commands to qemu over its machine protocol (QMP) on a Unix socket, with a deadline for all. */
final class MachineProtocol implements AutoCloseable {
  private static final Duration DEADLINE = Duration.ofSeconds(20);
  private static final int MAX_LINE = 1 << 20;
  private static final Logger LOG = LoggerFactory.getLogger(MachineProtocol.class);

  private final SocketChannel channel;
  private final Selector selector;
  private final long end = System.nanoTime() + DEADLINE.toNanos();
  private final ByteBuffer received = ByteBuffer.allocate(4096).limit(0);

  private MachineProtocol(Path socket) throws IOException {
    channel = SocketChannel.open(UnixDomainSocketAddress.of(socket));
    channel.configureBlocking(false);
    selector = Selector.open();
    channel.register(selector, SelectionKey.OP_READ);
  }

  /** What is done in one conversation. */
  interface Work {
    /** Does it; not answered in time, or refused, a command ends it. */
    void with(MachineProtocol protocol) throws IOException;
  }

  /**
   * Converses.
   *
   * @throws CommandException if qemu is not there, refuses a command, or does not answer in time
   */
  static void at(Path socket, Work work) {
    try (MachineProtocol protocol = new MachineProtocol(socket)) {
      protocol.line(); // its greeting
      protocol.execute("qmp_capabilities", Map.of());
      work.with(protocol);
    } catch (IOException e) {
      throw new CommandException("qemu at " + socket + ": " + e.getMessage(), e);
    }
  }

  /**
   * Runs a command.
   *
   * @return what it returns
   */
  JsonNode execute(String command, Map<String, Object> arguments) throws IOException {
    JsonNode answer = answer(command, arguments);
    if (!answer.has("return")) {
      throw new IOException(
          command + " failed: " + answer.path("error").path("desc").asText("no reason given"));
    }
    return answer.path("return");
  }

  /** Runs a command that qemu may refuse. */
  void attempt(String command, Map<String, Object> arguments) throws IOException {
    JsonNode answer = answer(command, arguments);
    LOG.debug("{} {}: {}", command, arguments, answer);
  }

  private JsonNode answer(String command, Map<String, Object> arguments) throws IOException {
    byte[] request =
        Json.mapper().writeValueAsBytes(Map.of("execute", command, "arguments", arguments));
    ByteBuffer bytes = ByteBuffer.allocate(request.length + 1).put(request).put((byte) '\n').flip();
    while (bytes.hasRemaining()) {
      channel.write(bytes); // a command is short: the socket's buffer takes it
    }
    JsonNode answer = Json.mapper().readTree(line());
    while (answer.has("event")) {
      answer = Json.mapper().readTree(line());
    }
    return answer;
  }

  private String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    while (line.size() < MAX_LINE) {
      if (!received.hasRemaining()) {
        receive();
      }
      byte next = received.get();
      if (next == '\n') {
        return line.toString(UTF_8);
      }
      line.write(next);
    }
    throw new IOException("an answer without end");
  }

  private void receive() throws IOException {
    received.clear();
    int count = channel.read(received);
    while (count == 0) {
      long left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        throw new IOException("no answer within " + DEADLINE.toSeconds() + " s");
      }
      selector.select(left);
      selector.selectedKeys().clear();
      count = channel.read(received);
    }
    if (count < 0) {
      throw new IOException("the connection was closed");
    }
    received.flip();
  }

  @Override
  public void close() throws IOException {
    selector.close();
    channel.close();
  }
}
