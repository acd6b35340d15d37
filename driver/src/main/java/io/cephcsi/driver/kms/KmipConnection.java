package io.cephcsi.driver.kms;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * A connection to a KMIP server, over TLS. It is closed at its deadline, whatever the server sends.
 * For one thread.
 */
final class KmipConnection implements AutoCloseable {
  private static final int LARGEST = 64 << 10;
  private static final int SHOWN = 200;
  private static final ScheduledThreadPoolExecutor CLOSER = closer();

  private final String name;
  private final Socket socket;
  private final SSLSocket tls;
  private final Future<?> end;

  /**
   * Where a server is.
   *
   * @param serverName the name in its certificate
   * @param protocols versions of TLS
   */
  record Server(String host, int port, String serverName, List<String> protocols) {
    /** Whether the name in the certificate is one, and no address. */
    boolean hasName() {
      return !serverName.matches("[0-9.]+|.*:.*");
    }
  }

  private KmipConnection(String name, Socket socket, SSLSocket tls, Future<?> end) {
    this.name = name;
    this.socket = socket;
    this.tls = tls;
    this.end = end;
  }

  private static ScheduledThreadPoolExecutor closer() {
    ScheduledThreadPoolExecutor closer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "kmip-deadline");
              thread.setDaemon(true);
              return thread;
            });
    closer.setRemoveOnCancelPolicy(true);
    return closer;
  }

  /**
   * Connects.
   *
   * @param name of the KMS, for messages
   * @throws VolumeException UNAVAILABLE when it cannot
   */
  static KmipConnection open(String name, Server server, SSLContext context, Deadline deadline) {
    Socket socket = new Socket();
    Future<?> end =
        CLOSER.schedule(() -> close(socket), deadline.left().toNanos(), TimeUnit.NANOSECONDS);
    try {
      int millis = (int) Math.max(1, deadline.left().toMillis());
      socket.connect(new InetSocketAddress(server.host(), server.port()), millis);
      SSLSocket tls =
          (SSLSocket)
              context
                  .getSocketFactory()
                  .createSocket(socket, server.serverName(), server.port(), true);
      SSLParameters parameters = tls.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      parameters.setProtocols(server.protocols().toArray(String[]::new));
      if (server.hasName()) {
        parameters.setServerNames(List.of(new SNIHostName(server.serverName())));
      }
      tls.setSSLParameters(parameters);
      tls.startHandshake();
      return new KmipConnection(name, socket, tls, end);
    } catch (IOException e) {
      end.cancel(false);
      close(socket);
      throw failed(name, "it cannot be connected to", e);
    }
  }

  private static VolumeException failed(String name, String what, IOException e) {
    String why =
        e instanceof SSLException
            ? ": SSL/TLS: " + PlainText.escape(String.valueOf(e.getMessage()), SHOWN)
            : "";
    return new VolumeException(Reason.UNAVAILABLE, name + ": " + what + why);
  }

  /**
   * Sends a request and reads the answer.
   *
   * @param read how long the server may be silent
   */
  byte[] call(byte[] request, Duration read) {
    try {
      tls.setSoTimeout((int) read.toMillis());
      tls.getOutputStream().write(request);
      tls.getOutputStream().flush();
      InputStream in = tls.getInputStream();
      byte[] head = in.readNBytes(Ttlv.HEAD);
      if (head.length < Ttlv.HEAD) {
        throw new IOException("no answer");
      }
      int length = ByteBuffer.wrap(head).getInt(4);
      if (length < 0 || length > LARGEST) {
        throw new VolumeException(
            Reason.UNAVAILABLE, name + ": the answer has more than " + LARGEST + " bytes");
      }
      byte[] message = Arrays.copyOf(head, Ttlv.HEAD + length);
      if (in.readNBytes(message, Ttlv.HEAD, length) < length) {
        throw new IOException("the answer is cut off");
      }
      return message;
    } catch (IOException e) {
      throw failed(name, "there is no complete answer in time", e);
    }
  }

  @Override
  public void close() {
    end.cancel(false);
    close(socket);
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // it is not used any more
    }
  }
}
