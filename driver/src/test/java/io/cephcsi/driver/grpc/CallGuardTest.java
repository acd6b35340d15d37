package io.cephcsi.driver.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import io.cephcsi.driver.metrics.MetricsServer;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CallGuardTest {
  @TempDir private Path folder;

  /** gRPC hands it on when its client has said that it is complete: until then it only waits. */
  @Test
  void aRequestWithoutItsEndIsRefusedCountedAndForgotten() throws Exception {
    MemoryBudget budget = new MemoryBudget();
    DriverMetrics metrics = new DriverMetrics();
    Path socket = folder.resolve("s");
    try (SocketServer server = SocketServer.start(socket, "guarded", List.of(), metrics, budget);
        MetricsServer page = metrics.serve(new MetricsEndpoint("127.0.0.1", 0, "/metrics"));
        SocketChannels channels = new SocketChannels()) {
      ManagedChannel channel = channels.open(server.socket());
      ClientCall<HealthCheckRequest, HealthCheckResponse> call =
          channel.newCall(streaming(), CallOptions.DEFAULT);
      CompletableFuture<Status> status = new CompletableFuture<>();
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status ended, Metadata trailers) {
              status.complete(ended);
            }
          },
          new Metadata());
      call.request(1);
      call.sendMessage(HealthCheckRequest.newBuilder().setService("x".repeat(1000)).build());
      Awaitility.await().until(() -> budget.used() > 1000);
      assertThat(status)
          .succeedsWithin(Duration.ofSeconds(60))
          .satisfies(ended -> assertThat(ended.getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED));
      Awaitility.await().until(() -> budget.used() == 0);
      assertThat(read(page.port()))
          .contains(
              "csi_plugin_operations_seconds_count{driver_name=\"guarded\","
                  + "grpc_status_code=\"DEADLINE_EXCEEDED\","
                  + "method_name=\"grpc.health.v1.Health/Check\"} 1");
      channel.shutdownNow();
    }
  }

  /** The client sends a request at once, and not with its end. */
  private static MethodDescriptor<HealthCheckRequest, HealthCheckResponse> streaming() {
    return HealthGrpc.getCheckMethod().toBuilder().setType(MethodType.CLIENT_STREAMING).build();
  }

  private static String read(int port) throws IOException, InterruptedException {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics")).build(),
            BodyHandlers.ofString())
        .body();
  }
}
