package io.cephcsi.driver.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.testing.TestCluster;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimSpecBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.storage.StorageClass;
import io.fabric8.kubernetes.api.model.storage.StorageClassBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientTimeoutException;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * The cluster that ci/kubernetes started, and a namespace in it for one test. {@link #close}
 * deletes the namespace and looks that nothing is left of it in the API, on the node and in Ceph.
 */
final class Kubernetes implements AutoCloseable {
  /** The variable that ci/kubernetes sets: its folder. */
  static final String FOLDER = "CI_KUBERNETES_DIR";

  /** Why a test is skipped. */
  static final String SKIPPED = "needs a Kubernetes: KUBERNETES_BIN=FOLDER ci/kubernetes test";

  static final String RBD = "csi-rbd-sc";
  static final String CEPHFS = "csi-cephfs-sc";

  /** What a busy machine may take. */
  private static final Duration TIME = Duration.ofMinutes(2);

  /** Has a connection, and shares it. */
  private static final SubvolumeState SUBVOLUMES = new SubvolumeState(TestCluster.shared());

  private final KubernetesClient client = new KubernetesClientBuilder().build();
  private final String namespace = "test-" + UUID.randomUUID().toString().substring(0, 8);
  private final List<String> classes = new ArrayList<>();
  private final PoolState pool = new PoolState(TestCluster.shared(), "rbd");
  private final Set<String> before = pool.everything();

  Kubernetes() {
    client
        .resource(
            new NamespaceBuilder().withNewMetadata().withName(namespace).endMetadata().build())
        .create();
    await(
        "the service account", client.serviceAccounts().inNamespace(namespace).withName("default"));
  }

  KubernetesClient client() {
    return client;
  }

  String namespace() {
    return namespace;
  }

  /** The folder of ci/kubernetes. */
  static Path folder() {
    return Path.of(System.getenv(FOLDER));
  }

  /** A file system that one node may use. */
  void claim(String name, String storageClass, String size) {
    claim(name, storageClass, size, spec -> spec);
  }

  /** A claim that differs from the usual one. */
  void claim(
      String name,
      String storageClass,
      String size,
      UnaryOperator<PersistentVolumeClaimSpecBuilder> more) {
    PersistentVolumeClaimSpecBuilder usual =
        new PersistentVolumeClaimSpecBuilder()
            .withAccessModes("ReadWriteOnce")
            .withStorageClassName(storageClass)
            .withNewResources()
            .addToRequests("storage", new Quantity(size))
            .endResources();
    PersistentVolumeClaim claim =
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName(name)
            .endMetadata()
            .withSpec(more.apply(usual).build())
            .build();
    client.resource(claim).inNamespace(namespace).create();
  }

  /** A claim whose content comes from a snapshot or another claim. */
  void claimFrom(String kind, String source, String name, String storageClass, String size) {
    claim(name, storageClass, size, spec -> from(spec, kind, source));
  }

  static PersistentVolumeClaimSpecBuilder from(
      PersistentVolumeClaimSpecBuilder spec, String kind, String source) {
    return spec.withNewDataSource(
        kind.equals("VolumeSnapshot") ? "snapshot.storage.k8s.io" : null, kind, source);
  }

  /** The name of the volume that a claim is bound to. */
  String bound(String claim) {
    return await(
            claim + " bound", claims(claim), found -> "Bound".equals(found.getStatus().getPhase()))
        .getSpec()
        .getVolumeName();
  }

  /** Asks for more, and waits until the claim says that it has it. */
  void grow(String claim, String size) {
    ask(claim, size);
    await(
        claim + " of " + size,
        claims(claim),
        found -> new Quantity(size).equals(found.getStatus().getCapacity().get("storage")));
  }

  /** Waits until no volume is attached to the node. */
  void awaitDetached() {
    Awaitility.await()
        .atMost(TIME)
        .untilAsserted(
            () ->
                assertThat(client.storage().v1().volumeAttachments().list().getItems()).isEmpty());
  }

  /** Asks for more. */
  void ask(String claim, String size) {
    patch(claim, "{'spec': {'resources': {'requests': {'storage': '%s'}}}}".formatted(size));
  }

  /** Changes a claim by a JSON merge patch, with single quotes; others may change it meanwhile. */
  void patch(String claim, String json) {
    claims(claim).patch(PatchContext.of(PatchType.JSON_MERGE), json.replace('\'', '"'));
  }

  /** The image of a claim's volume. */
  String image(String claim) {
    return client
        .persistentVolumes()
        .withName(bound(claim))
        .require()
        .getSpec()
        .getCsi()
        .getVolumeAttributes()
        .get("imageName");
  }

  Resource<PersistentVolumeClaim> claims(String name) {
    return client.persistentVolumeClaims().inNamespace(namespace).withName(name);
  }

  void deleteClaim(String name) {
    claims(name).delete();
    awaitGone(name, claims(name));
  }

  /** A StorageClass like one of the chart's, for this test. */
  String storageClass(String like, UnaryOperator<StorageClassBuilder> change) {
    StorageClass found = client.storage().v1().storageClasses().withName(like).get();
    String name = namespace + "-" + classes.size();
    StorageClass made =
        change
            .apply(new StorageClassBuilder(found).withNewMetadata().withName(name).endMetadata())
            .build();
    client.resource(made).create();
    classes.add(name);
    return name;
  }

  /** An object of the API, as YAML. */
  void apply(String yaml) {
    client.resource(yaml).inNamespace(namespace).create();
  }

  /** A snapshot of a claim; waits until it can be used. */
  void snapshot(String name, String snapshotClass, String claim) {
    apply(
        """
        apiVersion: snapshot.storage.k8s.io/v1
        kind: VolumeSnapshot
        metadata: {name: %s}
        spec: {volumeSnapshotClassName: %s, source: {persistentVolumeClaimName: %s}}
        """
            .formatted(name, snapshotClass, claim));
    await(
        name + " ready",
        object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", name),
        found -> Boolean.TRUE.equals(found.get("status", "readyToUse")));
  }

  /** The names of all snapshots of this test. */
  List<String> snapshots() {
    return client
        .genericKubernetesResources("snapshot.storage.k8s.io/v1", "VolumeSnapshot")
        .inNamespace(namespace)
        .list()
        .getItems()
        .stream()
        .map(found -> found.getMetadata().getName())
        .toList();
  }

  /** An object of a kind that the client does not know. */
  Resource<GenericKubernetesResource> object(String version, String kind, String name) {
    return client.genericKubernetesResources(version, kind).inNamespace(namespace).withName(name);
  }

  /** A pod of busybox that sleeps; {@link TestPod#start} makes it. */
  TestPod pod(String name) {
    return new TestPod(this, name);
  }

  <T extends HasMetadata> T await(String what, Resource<T> resource) {
    return await(what, resource, found -> true);
  }

  /** Waits until an object is there and is as it should be. */
  <T extends HasMetadata> T await(String what, Resource<T> resource, Predicate<T> condition) {
    try {
      return resource.waitUntilCondition(
          found -> found != null && condition.test(found), TIME.toSeconds(), TimeUnit.SECONDS);
    } catch (KubernetesClientTimeoutException e) {
      throw new AssertionError(
          "waited in vain for " + what + ": " + resource.get() + "; events: " + events(), e);
    }
  }

  <T extends HasMetadata> void awaitGone(String what, Resource<T> resource) {
    try {
      resource.waitUntilCondition(found -> found == null, TIME.toSeconds(), TimeUnit.SECONDS);
    } catch (KubernetesClientTimeoutException e) {
      throw new AssertionError(what + " does not go: " + events(), e);
    }
  }

  /** What {@code kubectl describe} shows of the objects of this test. */
  List<String> events() {
    return client.v1().events().inNamespace(namespace).list().getItems().stream()
        .map(
            event ->
                event.getInvolvedObject().getName()
                    + " "
                    + event.getReason()
                    + ": "
                    + event.getMessage())
        .toList();
  }

  /** The driver that serves the volumes. */
  DriverPods driver() {
    return new DriverPods(client);
  }

  @Override
  public void close() {
    try {
      client.namespaces().withName(namespace).delete();
      awaitGone("the namespace", client.namespaces().withName(namespace));
      Awaitility.await()
          .atMost(TIME)
          .pollInterval(Duration.ofMillis(500))
          .untilAsserted(() -> assertThat(leftInTheApi()).isEmpty());
      Awaitility.await()
          .atMost(TIME)
          .untilAsserted(() -> assertThat(NodeState.left(driver())).isEmpty());
      pool.awaitNothingBut(before);
      Awaitility.await()
          .atMost(TIME)
          .untilAsserted(() -> assertThat(SUBVOLUMES.leftovers()).isEmpty());
    } finally {
      classes.forEach(name -> client.storage().v1().storageClasses().withName(name).delete());
      client.close();
    }
  }

  private List<String> leftInTheApi() {
    Stream<String> volumes =
        client.persistentVolumes().list().getItems().stream()
            .map(volume -> volume.getMetadata().getName());
    Stream<String> attachments =
        client.storage().v1().volumeAttachments().list().getItems().stream()
            .map(attachment -> attachment.getMetadata().getName());
    Stream<String> snapshots =
        client
            .genericKubernetesResources("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent")
            .list()
            .getItems()
            .stream()
            .map(content -> content.getMetadata().getName());
    return Stream.of(volumes, attachments, snapshots).flatMap(each -> each).toList();
  }
}
