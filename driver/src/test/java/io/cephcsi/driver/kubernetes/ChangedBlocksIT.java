package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.cephcsi.proto.csi.v1.GetMetadataAllocatedResponse;
import io.cephcsi.testing.Commands;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.authentication.TokenRequestBuilder;
import io.fabric8.kubernetes.client.LocalPortForward;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status.Code;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.protobuf.lite.ProtoLiteUtils;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/** Changed blocks of snapshots, as backup programs ask for them: by csi-snapshot-metadata. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class ChangedBlocksIT {
  private static final String SNAPSHOTS = "snapshot.storage.k8s.io/v1";
  private static final String HOST = "ceph-csi-java-snapshot-metadata." + DriverPods.NAMESPACE;
  private static final String SECRET = "snapshot-metadata-tls";
  private static final String VALUE = "provisioner.snapshotMetadata.";
  private static final int PORT = 50051;
  private static final int SECONDS = 60;

  @TempDir private Path folder;

  @Test
  void aBackupProgramLearnsWhatASnapshotHasAndWhatChanged() throws IOException {
    assumeTrue(DriverPods.inPods(), "the driver does not run in pods: ci/kubernetes --on-host");
    String programs = System.getenv("KUBERNETES_BIN"); // else the cluster pulls the sidecar's image
    assumeTrue(
        programs == null || Files.exists(Path.of(programs, "csi-snapshot-metadata")),
        "KUBERNETES_BIN has no csi-snapshot-metadata");
    try (Kubernetes kubernetes = new Kubernetes()) {
      serve(kubernetes);
      try {
        kubernetes.claim("raw", RBD, "64Mi", spec -> spec.withVolumeMode("Block"));
        TestPod pod = kubernetes.pod("pod").withBlock("raw").start();
        write(pod, 8);
        kubernetes.snapshot("first", "csi-rbd-snapclass", "raw");
        write(pod, 32);
        kubernetes.snapshot("second", "csi-rbd-snapclass", "raw");
        kubernetes.apply(
            """
            apiVersion: v1
            kind: ServiceAccount
            metadata: {name: backup}
            """);
        kubernetes.apply(
            """
            apiVersion: rbac.authorization.k8s.io/v1
            kind: Role
            metadata: {name: backup}
            rules: [{apiGroups: [snapshot.storage.k8s.io], resources: [volumesnapshots], verbs: [get]}]
            """);
        kubernetes.apply(
            """
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata: {name: backup}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: backup}
            subjects: [{kind: ServiceAccount, name: backup}]
            """);
        ask(kubernetes);
      } finally {
        Release.upgrade(Map.of());
        kubernetes.driver().awaitReady();
        kubernetes.client().secrets().inNamespace(DriverPods.NAMESPACE).withName(SECRET).delete();
      }
    }
  }

  /** Switches the sidecar on, with a certificate for the name of its service. */
  private void serve(Kubernetes kubernetes) throws IOException {
    Path key = folder.resolve("tls.key");
    Path certificate = folder.resolve("tls.crt");
    Commands.run(
        List.of(
            ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
                    + " -keyout %s -out %s -subj /CN=changed-blocks -addext subjectAltName=DNS:%s")
                .formatted(key, certificate, HOST)
                .split(" ")));
    kubernetes
        .client()
        .resource(
            new SecretBuilder()
                .withNewMetadata()
                .withName(SECRET)
                .endMetadata()
                .withType("kubernetes.io/tls")
                .addToStringData("tls.key", Files.readString(key))
                .addToStringData("tls.crt", Files.readString(certificate))
                .build())
        .inNamespace(DriverPods.NAMESPACE)
        .create();
    Release.upgrade(
        Map.of(
            VALUE + "enabled",
            true,
            VALUE + "tlsSecretName",
            SECRET,
            VALUE + "caCert",
            certificate));
    kubernetes.driver().awaitReady();
  }

  /** Writes one object of the image. */
  private static void write(TestPod pod, int mebibyte) {
    pod.run("dd if=/dev/urandom of=/dev/raw bs=1M seek=%d count=4 conv=fsync".formatted(mebibyte));
  }

  private static void ask(Kubernetes kubernetes) throws IOException {
    GenericKubernetesResource service =
        kubernetes
            .client()
            .genericKubernetesResources("cbt.storage.k8s.io/v1beta1", "SnapshotMetadataService")
            .withName("rbd.csi.ceph.com")
            .require();
    byte[] authority = Base64.getDecoder().decode(service.<String>get("spec", "caCert"));
    String address = service.get("spec", "address");
    String audience = service.get("spec", "audience");
    String pod = kubernetes.driver().of("provisioner").get(0).getMetadata().getName();
    try (LocalPortForward port =
        kubernetes
            .client()
            .pods()
            .inNamespace(DriverPods.NAMESPACE)
            .withName(pod)
            .portForward(PORT)) {
      ManagedChannel channel =
          NettyChannelBuilder.forAddress("127.0.0.1", port.getLocalPort())
              .overrideAuthority(address)
              .sslContext(
                  GrpcSslContexts.forClient()
                      .trustManager(new ByteArrayInputStream(authority))
                      .build())
              .build();
      try {
        var backup = new Backup(kubernetes, channel);
        String token = backup.token("backup", audience);
        String first = backup.handle("first");
        assertThat(backup.allocated(token, "first")).containsExactly("8 MiB: 4 MiB");
        assertThat(backup.allocated(token, "second"))
            .containsExactly("8 MiB: 4 MiB", "32 MiB: 4 MiB");
        assertThat(backup.changed(token, first, "second")).containsExactly("32 MiB: 4 MiB");
        String other = backup.token("backup", "other");
        assertStatus(Code.UNAUTHENTICATED, () -> backup.allocated(other, "first"));
        String stranger = backup.token("default", audience);
        assertStatus(Code.PERMISSION_DENIED, () -> backup.allocated(stranger, "first"));
      } finally {
        channel.shutdownNow();
      }
    }
  }

  /**
   * A client of the sidecar's service. Its answers are those of CSI, its requests have a token and
   * names of Kubernetes.
   */
  private record Backup(Kubernetes kubernetes, ManagedChannel channel) {
    String token(String account, String audience) {
      return kubernetes
          .client()
          .serviceAccounts()
          .inNamespace(kubernetes.namespace())
          .withName(account)
          .tokenRequest(
              new TokenRequestBuilder()
                  .withNewSpec()
                  .withAudiences(audience)
                  .withExpirationSeconds(600L)
                  .endSpec()
                  .build())
          .getStatus()
          .getToken();
    }

    String handle(String snapshot) {
      String content =
          kubernetes
              .object(SNAPSHOTS, "VolumeSnapshot", snapshot)
              .require()
              .get("status", "boundVolumeSnapshotContentName");
      return kubernetes
          .client()
          .genericKubernetesResources(SNAPSHOTS, "VolumeSnapshotContent")
          .withName(content)
          .require()
          .get("status", "snapshotHandle");
    }

    List<String> allocated(String token, String snapshot) {
      return call("GetMetadataAllocated", token, kubernetes.namespace(), snapshot);
    }

    List<String> changed(String token, String base, String target) {
      return call("GetMetadataDelta", token, kubernetes.namespace(), base, target);
    }

    private List<String> call(String method, String... texts) {
      UnknownFieldSet.Builder request = UnknownFieldSet.newBuilder();
      for (int i = 0; i < texts.length; i++) {
        request.addField(
            i + 1,
            UnknownFieldSet.Field.newBuilder()
                .addLengthDelimited(ByteString.copyFromUtf8(texts[i]))
                .build());
      }
      List<String> blocks = new ArrayList<>();
      ClientCalls.blockingServerStreamingCall(
              channel,
              MethodDescriptor.<UnknownFieldSet, GetMetadataAllocatedResponse>newBuilder()
                  .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
                  .setFullMethodName("snapshotmetadata.SnapshotMetadata/" + method)
                  .setRequestMarshaller(
                      ProtoLiteUtils.marshaller(UnknownFieldSet.getDefaultInstance()))
                  .setResponseMarshaller(
                      ProtoUtils.marshaller(GetMetadataAllocatedResponse.getDefaultInstance()))
                  .build(),
              CallOptions.DEFAULT.withWaitForReady().withDeadlineAfter(SECONDS, TimeUnit.SECONDS),
              request.build())
          .forEachRemaining(
              answer -> {
                assertThat(answer.getVolumeCapacityBytes()).isEqualTo(64 << 20);
                answer
                    .getBlockMetadataList()
                    .forEach(
                        block ->
                            blocks.add(
                                "%d MiB: %d MiB"
                                    .formatted(
                                        block.getByteOffset() >> 20, block.getSizeBytes() >> 20)));
              });
      return blocks;
    }
  }
}
