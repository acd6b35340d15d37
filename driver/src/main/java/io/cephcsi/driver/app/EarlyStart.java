package io.cephcsi.driver.app;

import com.google.protobuf.BoolValue;
import com.google.protobuf.InvalidProtocolBufferException;
import io.cephcsi.driver.grpc.SocketServer;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.ProbeResponse;
import io.cephcsi.proto.csi.v1.SnapshotMetadataGrpc;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Loads what a gRPC server needs on a second thread, while the first one sets up the log and reads
 * the command line and the configuration: a quarter of the start. The two share no library
 * meanwhile, as classes that initialize each other in two threads could wait for each other for
 * ever.
 */
final class EarlyStart {
  private static final AtomicReference<@Nullable Thread> LOADER = new AtomicReference<>();
  private static final CountDownLatch LOG = new CountDownLatch(1);

  private EarlyStart() {}

  /** Begins to load. */
  static void begin() {
    Thread thread = new Thread(EarlyStart::load, "early start");
    thread.setDaemon(true);
    // What cannot be loaded now cannot later either: then it is told to whom it concerns.
    thread.setUncaughtExceptionHandler((loader, e) -> {});
    if (LOADER.compareAndSet(null, thread)) {
      thread.start();
    }
    LoggerFactory.getILoggerFactory();
    LOG.countDown();
  }

  private static void load() {
    loadMessages(); // they do not log
    try {
      LOG.await();
    } catch (InterruptedException e) {
      return;
    }
    SocketServer.load(new DriverMetrics());
  }

  @SuppressWarnings("ReturnValueIgnored") // they are loaded
  private static void loadMessages() {
    IdentityGrpc.getServiceDescriptor();
    ControllerGrpc.getServiceDescriptor();
    GroupControllerGrpc.getServiceDescriptor();
    SnapshotMetadataGrpc.getServiceDescriptor();
    ReclaimSpaceControllerGrpc.getServiceDescriptor();
  }

  /** Loads what the first answer needs, while the socket gets its first connection. */
  @SuppressWarnings("IgnoredPureGetter") // it is loaded
  static void loadAnswers() {
    ProbeResponse answer =
        ProbeResponse.newBuilder().setReady(BoolValue.newBuilder().setValue(true)).build();
    try {
      ProbeResponse.parseFrom(answer.toByteArray());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException("an answer cannot be read that was just written", e);
    }
  }

  /** Waits until all is loaded that was begun. */
  static void await() {
    Thread thread = LOADER.getAndSet(null);
    if (thread == null) {
      return;
    }
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
