package io.cephcsi.driver.kubernetes;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodSecurityContext;
import io.fabric8.kubernetes.api.model.PodSecurityContextBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeBuilder;
import io.fabric8.kubernetes.api.model.VolumeMountBuilder;
import io.fabric8.kubernetes.client.dsl.ContainerResource;
import io.fabric8.kubernetes.client.dsl.ExecWatch;
import io.fabric8.kubernetes.client.dsl.PodResource;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A pod of busybox that sleeps, with volumes; commands run in it. */
final class TestPod {
  private static final int SECONDS = 60;

  private final Kubernetes kubernetes;
  private final String name;
  private final List<Volume> volumes = new ArrayList<>();
  private final ContainerBuilder container =
      new ContainerBuilder()
          .withName("busybox")
          .withImage("local/busybox:1")
          .withImagePullPolicy("Never")
          .withCommand("sleep", "2147483647");
  private PodSecurityContext security = new PodSecurityContext();

  TestPod(Kubernetes kubernetes, String name) {
    this.kubernetes = kubernetes;
    this.name = name;
  }

  /** Mounts a claim at /CLAIM. */
  TestPod with(String claim) {
    return with(claim, "", false);
  }

  /** Mounts a claim, or a directory of it, at /CLAIM. */
  TestPod with(String claim, String subPath, boolean readOnly) {
    volumes.add(volume(claim, readOnly));
    container.addToVolumeMounts(
        new VolumeMountBuilder()
            .withName(claim)
            .withMountPath("/" + claim)
            .withSubPath(subPath.isEmpty() ? null : subPath)
            .withReadOnly(readOnly)
            .build());
    return this;
  }

  /** Shows a block volume as /dev/CLAIM. */
  TestPod withBlock(String claim) {
    volumes.add(volume(claim, false));
    container
        .addNewVolumeDevice()
        .withName(claim)
        .withDevicePath("/dev/" + claim)
        .endVolumeDevice();
    return this;
  }

  private static Volume volume(String claim, boolean readOnly) {
    return new VolumeBuilder()
        .withName(claim)
        .withNewPersistentVolumeClaim(claim, readOnly)
        .build();
  }

  /** Mounts a volume of its own at /NAME: it comes and goes with the pod. */
  TestPod withEphemeral(String volume, String storageClass, String size) {
    volumes.add(
        new VolumeBuilder()
            .withName(volume)
            .withNewEphemeral()
            .withNewVolumeClaimTemplate()
            .withNewSpec()
            .withAccessModes("ReadWriteOnce")
            .withStorageClassName(storageClass)
            .withNewResources()
            .addToRequests("storage", new Quantity(size))
            .endResources()
            .endSpec()
            .endVolumeClaimTemplate()
            .endEphemeral()
            .build());
    container.addNewVolumeMount().withName(volume).withMountPath("/" + volume).endVolumeMount();
    return this;
  }

  /** Runs as a user that is not root, with an fsGroup. */
  TestPod as(long user, long group) {
    security =
        new PodSecurityContextBuilder()
            .withRunAsUser(user)
            .withRunAsGroup(user)
            .withFsGroup(group)
            .build();
    return this;
  }

  /** Makes the pod. */
  TestPod create() {
    Container made = container.build();
    Pod pod =
        new PodBuilder()
            .withNewMetadata()
            .withName(name)
            .endMetadata()
            .withNewSpec()
            .withTerminationGracePeriodSeconds(0L)
            .withAutomountServiceAccountToken(false)
            .withEnableServiceLinks(false)
            .withSecurityContext(security)
            .withVolumes(volumes)
            .withContainers(made)
            .endSpec()
            .build();
    kubernetes.client().resource(pod).inNamespace(kubernetes.namespace()).create();
    return this;
  }

  /** Makes the pod and waits until it runs. */
  TestPod start() {
    return create().awaitRunning();
  }

  TestPod awaitRunning() {
    kubernetes.await(
        name + " running",
        resource(),
        pod ->
            "Running".equals(pod.getStatus().getPhase())
                && pod.getStatus().getContainerStatuses().stream()
                    .allMatch(status -> Boolean.TRUE.equals(status.getReady())));
    return this;
  }

  PodResource resource() {
    return kubernetes.client().pods().inNamespace(kubernetes.namespace()).withName(name);
  }

  /** Runs a shell's script in the pod and gives what it printed; fails if the script does. */
  String run(String script) {
    return run(resource(), script);
  }

  /** Runs a shell's script in a container of any pod, as {@link #run(String)}. */
  static String run(ContainerResource container, String script) {
    var out = new ByteArrayOutputStream();
    var errors = new ByteArrayOutputStream();
    try (ExecWatch watch =
        container.writingOutput(out).writingError(errors).exec("sh", "-c", script)) {
      Integer code = watch.exitCode().get(SECONDS, TimeUnit.SECONDS);
      if (code != 0) {
        throw new AssertionError(script + " failed with " + code + ": " + errors.toString(UTF_8));
      }
      return out.toString(UTF_8).strip();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(script, e);
    } catch (ExecutionException | TimeoutException e) {
      throw new AssertionError(script, e);
    }
  }

  /** Deletes the pod and waits until it is gone. */
  void delete() {
    resource().withGracePeriod(0).delete();
    kubernetes.awaitGone(name, resource());
  }
}
