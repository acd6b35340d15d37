package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsRequest;
import io.cephcsi.proto.csi.v1.NodePublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.Commands;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which paths of requests a node works on, and what it leaves alone there. Needs root. */
abstract class NodePathRules extends NodeRules {
  private static final List<String> ODD =
      List.of(
          "relative",
          "/",
          "/tmp/a/../b",
          "/tmp/./a",
          "/proc/1/ns",
          "/proc/self/fd/1",
          "/proc/self/root/tmp/a",
          "/sys/block",
          "/dev/null");

  private NodeStageVolumeRequest stageAt(Volume volume, Path staging) {
    return node.stageRequest(volume, WRITER).setStagingTargetPath(staging.toString()).build();
  }

  private NodePublishVolumeRequest publishAt(Volume volume, Path target) {
    return node.publishRequest(volume, WRITER, "pod").setTargetPath(target.toString()).build();
  }

  private static NodeUnpublishVolumeRequest from(Volume volume, Object target) {
    return NodeUnpublishVolumeRequest.newBuilder()
        .setVolumeId(volume.getVolumeId())
        .setTargetPath(target.toString())
        .build();
  }

  private static NodeUnstageVolumeRequest unstageAt(Volume volume, Object staging) {
    return NodeUnstageVolumeRequest.newBuilder()
        .setVolumeId(volume.getVolumeId())
        .setStagingTargetPath(staging.toString())
        .build();
  }

  /** Where a volume is ready. */
  private Path place(Volume volume) {
    Path staging = node.staging(volume);
    return kind == Kind.RBD ? staging.resolve(volume.getVolumeId()) : staging;
  }

  private static void run(String... command) {
    assertThat(Commands.run(List.of(command))).isNotNull();
  }

  private static Path foreignMount(Path path) throws IOException {
    Files.createDirectories(path);
    // A source that looks like an empty device of an attacher's.
    run("mount", "-t", "tmpfs", "-o", "size=1m", "/dev/loop9999", path.toString());
    return Files.writeString(path.resolve("file"), "theirs");
  }

  private Path kubeletTarget(String name) {
    return node.folder().resolve("pods/uid/volumes/kubernetes.io~csi").resolve(name + "/mount");
  }

  /** What a machine has of an older version, or of ceph-csi with its staging path gone. */
  private void forgetRecords(String... kinds) throws IOException {
    for (Path file : node.files("node")) {
      if (List.of(kinds).contains(String.valueOf(file.getParent().getFileName()))) {
        Files.delete(file);
      }
    }
  }

  private void end(Volume volume) {
    node.remove(volume);
    assertThat(node.leftovers()).isEmpty();
    driver.delete(volume.getVolumeId());
  }

  @Test
  void oddPathsAreInvalid() {
    Volume volume = nobody;
    for (String odd : ODD) {
      assertInvalid(
          "staging_target_path",
          node.stub()::nodeStageVolume,
          node.stageRequest(volume, WRITER).setStagingTargetPath(odd).build());
      assertInvalid(
          "target_path",
          node.stub()::nodePublishVolume,
          node.publishRequest(volume, WRITER, "pod").setTargetPath(odd).build());
      assertInvalid("staging_target_path", node.stub()::nodeUnstageVolume, unstageAt(volume, odd));
      assertInvalid("target_path", node.stub()::nodeUnpublishVolume, from(volume, odd));
    }
  }

  @Test
  void whatOthersPutAtATargetStays() throws IOException {
    Path pods = Files.createDirectories(node.folder().resolve("pods/theirs"));
    List<Path> theirs = new ArrayList<>();
    Path mounted = foreignMount(pods.resolve("mount"));
    theirs.add(pods.resolve("mount"));
    theirs.add(Files.createDirectories(pods.resolve("full/below")).getParent());
    theirs.add(Files.writeString(pods.resolve("file"), "content"));
    theirs.add(Files.createSymbolicLink(pods.resolve("link"), Path.of("/etc")));
    for (Map.Entry<String, String> node : Map.of("fifo", "p", "device", "c 1 3").entrySet()) {
      Path path = pods.resolve(node.getKey());
      run("bash", "-c", "mknod " + path + " " + node.getValue());
      theirs.add(path);
    }
    Volume stranger = Volume.newBuilder().setVolumeId("not-an-id").build();
    for (Path path : theirs) {
      for (Volume volume : List.of(nobody, stranger)) {
        assertStatus(
            Code.FAILED_PRECONDITION, () -> node.stub().nodeUnpublishVolume(from(volume, path)));
      }
      assertThat(Files.exists(path, LinkOption.NOFOLLOW_LINKS)).as(path.toString()).isTrue();
    }
    assertThat(mounted).hasContent("theirs");
    Path empty = Files.createDirectory(pods.resolve("empty"));
    Path none = Files.createFile(pods.resolve("none"));
    for (Path path : List.of(empty, none)) {
      assertThat(node.stub().nodeUnpublishVolume(from(nobody, path))).isNotNull();
      assertThat(path).exists();
    }
    Path kubelets = Files.createDirectories(kubeletTarget("empty"));
    for (Path path : List.of(kubelets, pods.resolve("never/was"))) {
      assertThat(node.stub().nodeUnpublishVolume(from(nobody, path))).isNotNull();
      assertThat(path).doesNotExist();
    }
    run("umount", pods.resolve("mount").toString());
    run("rm", "-r", pods.toString());
  }

  @Test
  void whatOthersPutAtAStagingPathStays() throws IOException {
    Volume volume = create();
    Path file = foreignMount(place(volume));
    assertStatus(Code.FAILED_PRECONDITION, () -> node.stage(volume, WRITER));
    assertStatus(Code.FAILED_PRECONDITION, () -> node.unstage(volume));
    assertThat(file).hasContent("theirs");
    run("umount", place(volume).toString());
    Path covered = Files.writeString(place(volume).resolve("file"), "theirs");
    assertStatus(Code.FAILED_PRECONDITION, "not empty", () -> node.stage(volume, WRITER));
    assertThat(covered).hasContent("theirs");
    Files.delete(covered);
    node.stage(volume, WRITER);
    end(volume);
  }

  @Test
  void linksAbovePathsAreResolvedOnceAndPathsAreNoLinks() throws IOException {
    Volume volume = create();
    node.stage(volume, WRITER);
    Path pods = Files.createDirectories(node.folder().resolve("pods/real"));
    Path link = Files.createSymbolicLink(node.folder().resolve("pods/link"), pods);
    Path target = pods.resolve(volume.getVolumeId());
    for (Path spelling : List.of(link, pods, link)) {
      assertThat(
              node.stub()
                  .nodePublishVolume(publishAt(volume, spelling.resolve(target.getFileName()))))
          .isNotNull();
    }
    assertThat(MountTable.read().all()).filteredOn(m -> m.target().equals(target)).hasSize(1);
    assertThat(node.stub().nodeUnpublishVolume(from(volume, link.resolve(target.getFileName()))))
        .isNotNull();
    assertThat(MountTable.read().at(target)).isEmpty();
    assertThat(target).doesNotExist();
    assertInvalid("target_path", node.stub()::nodePublishVolume, publishAt(volume, link));
    Path staging = Files.createSymbolicLink(node.folder().resolve("link"), node.staging(volume));
    assertInvalid("staging_target_path", node.stub()::nodeStageVolume, stageAt(volume, staging));
    assertStatus(
        Code.FAILED_PRECONDITION,
        "link",
        () -> node.stub().nodeUnstageVolume(unstageAt(volume, staging)));
    Files.delete(link);
    Files.delete(staging);
    end(volume);
  }

  @Test
  void targetsAndStagedVolumesDoNotLieInEachOther() throws IOException {
    Volume volume = create();
    Volume another = create();
    node.stage(volume, WRITER);
    node.stage(another, WRITER);
    Path published = node.publish(volume, WRITER, "pod");
    for (Path target :
        List.of(
            node.staging(volume),
            place(volume),
            place(volume).resolve("below"),
            node.staging(volume).getParent(),
            published.resolve("below/below"),
            place(another),
            place(another).resolve("below"))) {
      assertInvalid("target_path", node.stub()::nodePublishVolume, publishAt(volume, target));
    }
    assertThat(place(volume).resolve("below")).doesNotExist();
    assertThat(published.resolve("below")).doesNotExist();
    Path below = published.resolve("below/below");
    assertInvalid("staging_target_path", node.stub()::nodeStageVolume, stageAt(another, below));
    assertStatus(
        Code.FAILED_PRECONDITION,
        "in the volume",
        () -> node.stub().nodeUnstageVolume(unstageAt(another, below)));
    Path entry = Files.createFile(published.resolve("entry"));
    assertStatus(
        Code.FAILED_PRECONDITION,
        "in the volume",
        () -> node.stub().nodeUnpublishVolume(from(volume, entry)));
    assertThat(entry).exists();
    assertStatus(
        Code.FAILED_PRECONDITION,
        "staged",
        () -> node.stub().nodeUnpublishVolume(from(volume, place(volume))));
    assertThat(MountTable.read().at(place(volume))).isPresent();
    node.remove(another);
    driver.delete(another.getVolumeId());
    end(volume);
  }

  @Test
  void whatWasThereBeforePublishingIsThereAfterwards() throws IOException {
    Volume volume = create();
    node.stage(volume, WRITER);
    Path target = Files.createDirectories(node.target(volume, "pod"));
    for (int i = 0; i < 2; i++) {
      node.publish(volume, WRITER, "pod");
    }
    for (int i = 0; i < 2; i++) {
      node.unpublish(volume, "pod");
      assertThat(target).isEmptyDirectory();
    }
    Files.delete(target);
    Files.createFile(target);
    assertStatus(Code.FAILED_PRECONDITION, () -> node.publish(volume, WRITER, "pod"));
    node.unpublish(volume, "pod");
    assertThat(target).isEmptyFile();
    Files.delete(target);
    node.publish(volume, WRITER, "pod");
    node.unpublish(volume, "pod");
    assertThat(target).doesNotExist();
    Path kubelets = Files.createDirectories(kubeletTarget("pv"));
    assertThat(node.stub().nodePublishVolume(publishAt(volume, kubelets))).isNotNull();
    assertThat(node.stub().nodeUnpublishVolume(from(volume, kubelets))).isNotNull();
    assertThat(kubelets).doesNotExist();
    node.unstage(volume);
    assertThat(node.files("node")).isEmpty();
    end(volume);
  }

  /** Pods put links there. */
  @Test
  void noPathLiesInWhatAPodHasAsAVolume() throws IOException {
    Volume volume = create();
    Volume another = create();
    node.stage(volume, WRITER);
    Path pod = node.folder().resolve("pods/uid");
    Path csi = pod.resolve("volumes/kubernetes.io~csi/pv");
    Path cache = pod.resolve("volumes/kubernetes.io~empty-dir/cache");
    for (Path path :
        List.of(
            cache.resolve("below"),
            cache.resolve("pods/uid/volumes/kubernetes.io~csi/pv/mount"),
            csi.resolve("mount/below"),
            pod.resolve("volume-subpaths/cache/container/0"))) {
      assertInvalid("target_path", node.stub()::nodePublishVolume, publishAt(volume, path));
      assertInvalid("staging_target_path", node.stub()::nodeStageVolume, stageAt(another, path));
      Files.createDirectories(path);
      assertStatus(
          Code.FAILED_PRECONDITION,
          "a pod's volume",
          () -> node.stub().nodeUnpublishVolume(from(volume, path)));
      assertStatus(
          Code.FAILED_PRECONDITION,
          "a pod's volume",
          () -> node.stub().nodeUnstageVolume(unstageAt(another, path)));
      assertThat(path).isEmptyDirectory();
    }
    run("rm", "-r", pod.toString());
    Path target = csi.resolve("mount");
    assertThat(node.stub().nodePublishVolume(publishAt(volume, target))).isNotNull();
    assertThat(node.stub().nodeUnpublishVolume(from(volume, target))).isNotNull();
    driver.delete(another.getVolumeId());
    end(volume);
  }

  @Test
  void unpublishingAnotherVolumeLeavesThePublishedOne() throws IOException {
    Volume volume = create();
    Volume another = create();
    node.stage(volume, WRITER);
    node.stage(another, WRITER);
    Path published = node.publish(volume, WRITER, "pod");
    for (Volume other : List.of(another, nobody)) {
      assertStatus(
          Code.FAILED_PRECONDITION,
          "does not show",
          () -> node.stub().nodeUnpublishVolume(from(other, published)));
    }
    assertThat(MountTable.read().at(published)).isPresent();
    forgetRecords("targets");
    assertStatus(
        Code.FAILED_PRECONDITION,
        "does not show",
        () -> node.stub().nodeUnpublishVolume(from(another, published)));
    node.unpublish(volume, "pod");
    assertThat(published).doesNotExist();
    node.remove(another);
    driver.delete(another.getVolumeId());
    end(volume);
  }

  /** Of the same kind as volumes, as an administrator mounts them. */
  @Test
  void whatNobodyStagedIsNoVolumeButAtTheTargetsOfKubelet() throws IOException {
    Volume volume = create();
    node.stage(volume, WRITER);
    Path part = Files.createDirectory(place(volume).resolve("part"));
    Files.writeString(part.resolve("file"), "theirs");
    Path theirs = Files.createDirectories(node.folder().resolve("theirs").resolve(NOBODY));
    run("mount", "--bind", part.toString(), theirs.toString());
    for (Volume one : List.of(volume, nobody)) {
      assertStatus(
          Code.FAILED_PRECONDITION, () -> node.stub().nodeUnpublishVolume(from(one, theirs)));
    }
    assertStatus(
        Code.ALREADY_EXISTS, () -> node.stub().nodePublishVolume(publishAt(volume, theirs)));
    Path staging = kind == Kind.RBD ? theirs.getParent() : theirs;
    assertStatus(
        Code.FAILED_PRECONDITION, () -> node.stub().nodeUnstageVolume(unstageAt(nobody, staging)));
    assertThat(theirs.resolve("file")).hasContent("theirs");
    run("umount", theirs.toString());
    assertThat(node.stub().nodeUnstageVolume(unstageAt(nobody, staging))).isNotNull();
    assertThat(theirs).isEmptyDirectory();

    Path target = Files.createDirectories(kubeletTarget("pv"));
    run("mount", "--bind", part.toString(), target.toString());
    assertThat(node.stub().nodeUnpublishVolume(from(volume, target))).isNotNull();
    assertThat(target).doesNotExist();
    Files.delete(part.resolve("file"));
    Files.delete(part);
    end(volume);
  }

  @Test
  void whatIsNotWrittenDownIsUndoneAtThePathsOfKubelet() throws IOException {
    Volume volume = create();
    Path csi = node.folder().resolve("plugins/kubernetes.io/csi");
    Path staging = csi.resolve("driver/0123/globalmount");
    Path target = kubeletTarget("pv");
    assertThat(node.stub().nodeStageVolume(stageAt(volume, staging))).isNotNull();
    assertThat(
            node.stub()
                .nodePublishVolume(
                    node.publishRequest(volume, WRITER, "pod")
                        .setStagingTargetPath(staging.toString())
                        .setTargetPath(target.toString())
                        .build()))
        .isNotNull();
    forgetRecords("targets", "stagings");
    Files.deleteIfExists(staging.resolve("image-meta.json"));
    assertThat(node.stub().nodeUnpublishVolume(from(volume, target))).isNotNull();
    assertThat(target).doesNotExist();
    assertThat(node.stub().nodeUnstageVolume(unstageAt(volume, staging))).isNotNull();
    end(volume);
  }

  @Test
  void aVolumeIsStagedAtOnePath() throws IOException {
    Volume volume = create();
    node.stage(volume, WRITER);
    Path published = node.publish(volume, WRITER, "pod");
    Files.writeString(published.resolve("file"), "written");
    Path second = node.folder().resolve("staging/second");
    assertStatus(
        Code.FAILED_PRECONDITION,
        node.staging(volume).toString(),
        () -> node.stub().nodeStageVolume(stageAt(volume, second)));
    assertThat(node.stub().nodeUnstageVolume(unstageAt(volume, second))).isNotNull();
    node.stage(volume, WRITER);
    assertThat(published.resolve("file")).hasContent("written");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertThat(node.stub().nodeStageVolume(stageAt(volume, second))).isNotNull();
    assertThat(node.stub().nodeUnstageVolume(unstageAt(volume, second))).isNotNull();
    end(volume);
  }

  @Test
  void publishingAnotherVolumeDoesNotShowTheStagedOne() throws IOException {
    Volume volume = create();
    Volume another = create();
    node.stage(volume, WRITER);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "is not staged at",
        () ->
            node.stub()
                .nodePublishVolume(
                    node.publishRequest(another, WRITER, "pod")
                        .setStagingTargetPath(node.staging(volume).toString())
                        .build()));
    assertThat(node.target(another, "pod")).doesNotExist();
    node.unstage(volume);
    end(another);
    end(volume);
  }

  @Test
  void unstagingAnotherVolumeLeavesTheStagedOne() throws IOException {
    Volume volume = create();
    Volume another = create();
    node.stage(volume, WRITER);
    String staging = node.staging(volume).toString();
    assertThat(node.stub().nodeUnstageVolume(unstageAt(another, staging))).isNotNull();
    Path published = node.publish(volume, WRITER, "pod");
    Files.writeString(published.resolve("file"), "written");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    end(another);
    end(volume);
  }

  @Test
  void whatIsNotTheVolumeIsNotFound() throws IOException {
    Volume volume = create();
    Volume another = create();
    node.stage(volume, WRITER);
    node.stage(another, WRITER);
    Path other = node.publish(another, WRITER, "pod");
    Path foreign = foreignMount(node.folder().resolve("foreign")).getParent();
    for (Path path : List.of(other, foreign)) {
      assertStatus(
          Code.NOT_FOUND,
          () ->
              node.stub()
                  .nodeGetVolumeStats(
                      NodeGetVolumeStatsRequest.newBuilder()
                          .setVolumeId(volume.getVolumeId())
                          .setVolumePath(path.toString())
                          .build()));
      assertStatus(
          Code.NOT_FOUND,
          () ->
              node.stub()
                  .nodeExpandVolume(
                      NodeExpandVolumeRequest.newBuilder()
                          .setVolumeId(volume.getVolumeId())
                          .setVolumePath(path.toString())
                          .build()));
    }
    run("umount", foreign.toString());
    node.remove(another);
    driver.delete(another.getVolumeId());
    end(volume);
  }
}
