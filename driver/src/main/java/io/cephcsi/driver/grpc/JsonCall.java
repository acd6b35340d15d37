package io.cephcsi.driver.grpc;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.cephcsi.proto.csi.v1.CsiProto;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** One call of a method whose request is given, and whose answer is shown, as JSON. */
public final class JsonCall {
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().preservingProtoFieldNames().alwaysPrintFieldsWithNoPresence();

  private final MethodDescriptor method;
  private final DynamicMessage.Builder request;

  /**
   * Reads a request. Fields have the names of the specification ({@code volume_id}) or JSON's
   * ({@code volumeId}).
   *
   * @param method as {@link MethodCatalog} names it
   * @throws IllegalArgumentException when there is no such method, or the request does not fit it
   */
  public JsonCall(String method, String json) {
    this.method = MethodCatalog.find(method);
    this.request = DynamicMessage.newBuilder(this.method.getInputType());
    try {
      JsonFormat.parser().merge(json, request);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("the request is not valid: " + e.getMessage(), e);
    }
  }

  /** Whether the request has secrets by now. */
  public boolean hasSecrets() {
    Message message = request.build();
    return !Secrets.strip(message).equals(message);
  }

  /**
   * Adds secrets to the request.
   *
   * @throws IllegalArgumentException when the method takes none
   */
  public void addSecrets(Map<String, String> secrets) {
    FieldDescriptor field =
        method.getInputType().getFields().stream()
            .filter(f -> f.isMapField() && f.getOptions().getExtension(CsiProto.csiSecret))
            .findFirst()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "method " + MethodCatalog.name(method) + " takes no secrets"));
    Descriptor entry = field.getMessageType();
    secrets.forEach(
        (key, value) ->
            request.addRepeatedField(
                field,
                DynamicMessage.newBuilder(entry)
                    .setField(entry.findFieldByName("key"), key)
                    .setField(entry.findFieldByName("value"), value)
                    .build()));
  }

  /**
   * Calls, and waits for the end.
   *
   * @param answers takes each answer as JSON: one, or several from a method that streams
   * @throws io.grpc.StatusRuntimeException when the call fails
   */
  public void run(Channel channel, Duration timeout, Consumer<String> answers) {
    var call =
        io.grpc.MethodDescriptor.<Message, Message>newBuilder()
            .setType(method.isServerStreaming() ? MethodType.SERVER_STREAMING : MethodType.UNARY)
            .setFullMethodName(MethodCatalog.name(method))
            .setRequestMarshaller(marshaller(method.getInputType()))
            .setResponseMarshaller(marshaller(method.getOutputType()))
            .build();
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS);
    ClientCalls.blockingServerStreamingCall(channel, call, options, request.build())
        .forEachRemaining(answer -> answers.accept(show(answer)));
  }

  private static io.grpc.MethodDescriptor.Marshaller<Message> marshaller(Descriptor type) {
    return ProtoUtils.marshaller((Message) DynamicMessage.getDefaultInstance(type));
  }

  private static String show(Message answer) {
    try {
      return PRINTER.print(answer);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException("the answer cannot be shown as JSON", e);
    }
  }
}
