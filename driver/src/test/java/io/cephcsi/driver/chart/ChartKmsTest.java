package io.cephcsi.driver.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.kms.KmsConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the chart mounts and grants for key management systems, and that it does so for them only.
 */
@EnabledOnOs(architectures = "amd64", disabledReason = "Helm's library is there for amd64 only")
class ChartKmsTest {
  private static final String MOUNT = "/etc/ceph-csi-encryption-kms-config";

  @TempDir private Path folder;

  private Chart chart(String sections) throws IOException {
    Path values =
        Files.writeString(
            folder.resolve("values.yaml"),
            "kmsConfigMapName: kms\nencryptionKMSConfig:\n" + sections.indent(2));
    return Chart.rendered(values, "ceph", Map.of());
  }

  private static List<String> rules(Chart chart, String kind) {
    return chart.find(kind, "ceph-ceph-csi-java-kms").stream()
        .flatMap(role -> Chart.list(role.path("rules")).stream())
        .map(
            rule ->
                Chart.texts(rule.path("resources"))
                    + " "
                    + Chart.texts(rule.path("resourceNames"))
                    + " "
                    + Chart.texts(rule.path("verbs")))
        .toList();
  }

  private static boolean mounts(JsonNode workload) {
    return Chart.list(Chart.driver(workload).path("volumeMounts")).stream()
        .anyMatch(mount -> mount.path("mountPath").asText().equals(MOUNT));
  }

  private static boolean nodeHasToken(Chart chart) {
    return chart
        .of(List.of("DaemonSet"))
        .get(0)
        .at("/spec/template/spec/automountServiceAccountToken")
        .asBoolean();
  }

  @Test
  void withoutAKmsNothingIsMountedOrGranted() {
    Chart chart = Chart.of("");
    assertThat(chart.workloads()).hasSize(2).noneMatch(ChartKmsTest::mounts);
    assertThat(chart.objects()).noneMatch(object -> Chart.name(object).endsWith("-kms"));
    assertThat(nodeHasToken(chart)).isFalse();
  }

  @Test
  void theConfigurationIsMountedAsTheDriverReadsIt() throws IOException {
    Chart chart =
        chart("user-secret:\n  encryptionKMSType: metadata\nold:\n  KMS_PROVIDER: metadata\n");
    assertThat(chart.workloads()).hasSize(2).allMatch(ChartKmsTest::mounts);
    assertThat(rules(chart, "ClusterRole")).isEmpty();
    assertThat(nodeHasToken(chart)).isFalse();
    for (JsonNode workload : chart.workloads()) {
      assertThat(Chart.list(Chart.driver(workload).path("env")))
          .anyMatch(one -> one.path("name").asText().equals("POD_NAMESPACE"));
    }
    JsonNode data = chart.find("ConfigMap", "kms").orElseThrow().path("data");
    Path file = Files.writeString(folder.resolve("config.json"), data.path("config.json").asText());
    KmsConfig config = new KmsConfig(file, Optional.empty(), Map.of());
    assertThat(config.require("user-secret").id()).isEqualTo("user-secret");
    assertThat(config.require("old").id()).isEqualTo("old");
  }

  @Test
  void aSecretIsGrantedByItsNameAndNamespace() throws IOException {
    Chart chart =
        chart(
            """
            one:
              encryptionKMSType: metadata
              secretName: storage
              secretNamespace: keys
            two:
              encryptionKMSType: metadata
              secretName: of-tenant
            """);
    assertThat(rules(chart, "Role")).containsExactly("[secrets] [storage] [get]");
    assertThat(chart.find("Role", "ceph-ceph-csi-java-kms").orElseThrow().at("/metadata/namespace"))
        .hasToString("\"keys\"");
    assertThat(rules(chart, "ClusterRole")).containsExactly("[secrets] [of-tenant] [get]");
    assertThat(nodeHasToken(chart)).isTrue();
    for (String kind : List.of("ClusterRoleBinding", "RoleBinding")) {
      JsonNode binding = chart.find(kind, "ceph-ceph-csi-java-kms").orElseThrow();
      List<String> accounts =
          Chart.list(binding.path("subjects")).stream()
              .map(subject -> subject.path("name").asText())
              .toList();
      assertThat(accounts)
          .containsExactlyInAnyOrderElementsOf(
              chart.workloads().stream()
                  .map(one -> one.at("/spec/template/spec/serviceAccountName").asText())
                  .toList());
    }
  }

  @Test
  void whatTenantsHaveIsGrantedByName() throws IOException {
    Chart chart =
        chart(
            """
            tokens:
              encryptionKMSType: vaulttokens
              vaultCAFromSecret: ca
              tenants:
                bank:
                  tenantTokenName: bank-token
            accounts:
              KMS_PROVIDER: vaulttenantsa
              tenantConfigName: own
              VAULT_CLIENT_CERT: client
            """);
    assertThat(rules(chart, "ClusterRole"))
        .containsExactly(
            "[secrets] [bank-token, ca, ceph-csi-kms-token, client] [get]",
            "[configmaps] [ceph-csi-kms-config, own] [get]",
            "[serviceaccounts/token] [ceph-csi-vault-sa] [create]");
    assertThat(nodeHasToken(chart)).isTrue();
  }

  @Test
  void vaultNeedsTheTokenOfThePodOnly() throws IOException {
    Chart chart = chart("v:\n  encryptionKMSType: vault\n  vaultAddress: https://vault:8200\n");
    assertThat(
            Stream.of("ClusterRole", "Role").flatMap(kind -> rules(chart, kind).stream()).toList())
        .isEmpty();
    assertThat(nodeHasToken(chart)).isTrue();
  }

  @Test
  void secretsOfCloudsAreGrantedInTheNamespaceOfTheRelease() throws IOException {
    Chart chart =
        chart(
            """
            a:
              encryptionKMSType: aws-metadata
            b:
              encryptionKMSType: azure-kv
              AZURE_CERT_SECRET_NAME: own
            c:
              encryptionKMSType: ibmkeyprotect
            d:
              encryptionKMSType: kmip
            """);
    assertThat(rules(chart, "Role"))
        .containsExactly(
            "[secrets] [ceph-csi-aws-credentials, ceph-csi-kmip-credentials,"
                + " ceph-csi-kp-credentials, own] [get]");
    assertThat(rules(chart, "ClusterRole")).isEmpty();
    assertThat(chart.workloads()).noneMatch(ChartKmsTest::mountsToken);
  }

  @Test
  void aRoleOfAwsNeedsAProjectedToken() throws IOException {
    Chart chart = chart("a:\n  encryptionKMSType: aws-sts-metadata\n");
    assertThat(rules(chart, "ClusterRole"))
        .containsExactly("[secrets] [ceph-csi-aws-credentials] [get]");
    assertThat(chart.workloads()).hasSize(2).allMatch(ChartKmsTest::mountsToken);
  }

  private static boolean mountsToken(JsonNode workload) {
    boolean mounted =
        Chart.list(Chart.driver(workload).path("volumeMounts")).stream()
            .anyMatch(mount -> mount.path("mountPath").asText().equals("/run/secrets/tokens"));
    boolean there =
        Chart.list(workload.at("/spec/template/spec/volumes")).stream()
            .map(volume -> volume.at("/projected/sources/0/serviceAccountToken"))
            .anyMatch(token -> token.path("audience").asText().equals("ceph-csi-kms"));
    return mounted && there;
  }
}
