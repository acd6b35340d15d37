package io.cephcsi.driver.fuzz;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.cephcsi.driver.testing.ServedProcess;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The driver as a process of its own, called by messages of any kind. */
final class FuzzedDriver implements AutoCloseable {
  /** What takes longer hangs, in seconds. */
  static final int HANG = 90;

  /** How a call ended. */
  record Outcome(Status status, List<Message> answers) {}

  private final ServedProcess process;
  private final ManagedChannel channel;

  FuzzedDriver(Path folder, Path socket, List<String> arguments) {
    this.process = ServedProcess.start(folder, arguments.toArray(String[]::new));
    this.channel = process.awaitReady(socket);
  }

  Channel channel() {
    return channel;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** The most memory that the process had by now, in MiB. */
  long mostMemory() throws IOException {
    return Files.readAllLines(Path.of("/proc/" + process.pid() + "/status")).stream()
        .filter(line -> line.startsWith("VmHWM:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) / 1024)
        .sum();
  }

  String output() {
    return process.output();
  }

  /** Calls a method and waits for its end; never throws. */
  Outcome call(MethodDescriptor method, Message request) {
    var call =
        io.grpc.MethodDescriptor.<Message, Message>newBuilder()
            .setType(
                method.isServerStreaming()
                    ? io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING
                    : io.grpc.MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(method.getService().getFullName() + "/" + method.getName())
            .setRequestMarshaller(marshaller(method.getInputType()))
            .setResponseMarshaller(marshaller(method.getOutputType()))
            .build();
    List<Message> answers = new ArrayList<>();
    try {
      Iterator<Message> all =
          ClientCalls.blockingServerStreamingCall(
              channel,
              call,
              CallOptions.DEFAULT.withDeadlineAfter(HANG, TimeUnit.SECONDS),
              request);
      all.forEachRemaining(answers::add);
      return new Outcome(Status.OK, answers);
    } catch (StatusRuntimeException e) {
      return new Outcome(e.getStatus(), answers);
    }
  }

  private static io.grpc.MethodDescriptor.Marshaller<Message> marshaller(Descriptor type) {
    return ProtoUtils.marshaller((Message) DynamicMessage.getDefaultInstance(type));
  }

  /** The text of a field of a message, or of one within it: {@code volume.volume_id}. */
  static String text(Message message, String path) {
    Message at = message;
    String[] names = path.split("\\.", -1);
    for (int i = 0; i < names.length - 1; i++) {
      at = (Message) at.getField(field(at, names[i]));
    }
    return String.valueOf(at.getField(field(at, names[names.length - 1])));
  }

  private static FieldDescriptor field(Message message, String name) {
    FieldDescriptor field = message.getDescriptorForType().findFieldByName(name);
    if (field == null) {
      throw new IllegalArgumentException(message.getDescriptorForType().getName() + " " + name);
    }
    return field;
  }

  @Override
  public void close() {
    process.close();
  }
}
