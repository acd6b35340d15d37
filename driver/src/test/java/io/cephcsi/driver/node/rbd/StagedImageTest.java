package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.node.attach.AttacherKind;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.node.attach.NbdLog;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.testing.Commands;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StagedImageTest {
  @TempDir Path folder;

  @Test
  void whatIsWrittenIsRead() {
    StagedImage image =
        new StagedImage(
            new ImageSpec("rbd", "ns", "csi-vol-1"),
            AttacherKind.FUSE,
            "force",
            "/dev/loop0",
            "one",
            false,
            true,
            NbdLog.of("/var/log/rbd", "compress"));
    image.write(folder);
    assertThat(StagedImage.read(folder)).contains(image);
    StagedImage.remove(folder);
    StagedImage.remove(folder);
    assertThat(StagedImage.read(folder)).isEmpty();
    assertThat(folder).isEmptyDirectory();
  }

  @Test
  void filesOfCephCsiAreRead() throws Exception {
    Files.writeString(
        folder.resolve("image-meta.json"),
        """
        {"Version":3,"pool":"replicapool","radosNamespace":"","image":"csi-vol-2","unmapOptions":"",\
        "accessType":true,"encrypted":true,"device":"/dev/nbd0","logDir":"/var/log/ceph",\
        "logFileStrategy":"remove"}
        """);
    assertThat(StagedImage.read(folder))
        .contains(
            new StagedImage(
                new ImageSpec("replicapool", "", "csi-vol-2"),
                AttacherKind.NBD,
                "",
                "/dev/nbd0",
                "",
                true,
                false,
                Optional.of(new NbdLog(Path.of("/var/log/ceph"), NbdLog.Strategy.REMOVE))));
  }

  @Test
  void theFileHasTheFieldsOfCephCsi() {
    new StagedImage(new ImageSpec("rbd", "", "csi-vol-1"), AttacherKind.KRBD, "", "/dev/rbd0", "c")
        .write(folder);
    assertThat(folder.resolve("image-meta.json"))
        .hasContent(
            "{\"Version\":3,\"pool\":\"rbd\",\"radosNamespace\":\"\",\"image\":\"csi-vol-1\","
                + "\"encrypted\":false,\"unmapOptions\":\"\",\"accessType\":false,"
                + "\"device\":\"/dev/rbd0\",\"logDir\":\"\",\"logFileStrategy\":\"\","
                + "\"mounter\":\"rbd\",\"clusterID\":\"c\"}");
  }

  @ParameterizedTest
  @CsvSource({
    "csi-vol-3d020c97-f452-448d-8c46-5c0914da88af,"
        + "0001-0001-c-0000000000000001-3d020c97-f452-448d-8c46-5c0914da88af,true",
    "csi-vol-3d020c97-f452-448d-8c46-5c0914da88af,"
        + "0001-0001-c-0000000000000001-4d020c97-f452-448d-8c46-5c0914da88af,false",
    "by-hand,by-hand,true",
    "by-hand,by-hand-2,false",
    "kubernetes-dynamic-pvc-3d020c97-f452-448d-8c46-5c0914da88af,"
        + "mig_mons-b7f67366bb43f32e07d8a261a7840da9_image-"
        + "3d020c97-f452-448d-8c46-5c0914da88af_706f6f6c,true"
  })
  void theIdentifierTellsWhoseImageItIs(String image, String volumeId, boolean its) {
    StagedImage staged =
        new StagedImage(new ImageSpec("rbd", "", image), AttacherKind.KRBD, "", "/dev/rbd0", "c");
    assertThat(staged.isOfVolume(volumeId)).isEqualTo(its);
  }

  @Test
  void aBrokenFileIsNoMissingFile() throws Exception {
    Files.writeString(folder.resolve("image-meta.json"), "{");
    assertRefused();
  }

  private void assertRefused() {
    assertThatThrownBy(() -> StagedImage.read(folder))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "[]",
        "{\"pool\":\"rbd\"}",
        "{\"pool\":\"rbd\",\"image\":\"i\",\"device\":\"/dev/\\u0000\"}"
      })
  void whatIsNotOurFileIsRefused(String content) throws Exception {
    Files.writeString(folder.resolve("image-meta.json"), content);
    assertRefused();
  }

  @Test
  @Timeout(30)
  void onlyASmallFileOfOurOwnIsRead() throws Exception {
    Path file = folder.resolve("image-meta.json");
    StagedImage image =
        new StagedImage(new ImageSpec("rbd", "", "i"), AttacherKind.KRBD, "", "/dev/rbd0", "c");
    Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
    image.write(elsewhere);
    Files.createSymbolicLink(file, elsewhere.resolve("image-meta.json"));
    assertRefused();
    Files.delete(file);
    Commands.run(List.of("mkfifo", file.toString()));
    assertRefused();
    Files.delete(file);
    Files.createDirectory(file);
    assertRefused();
    Files.delete(file);
    Files.writeString(file, " ".repeat(1 << 20) + "{}");
    assertRefused();
    Files.delete(file);
    Path theirs = Files.writeString(folder.resolve("theirs"), "theirs");
    Files.createSymbolicLink(folder.resolve("image-meta.json.new"), theirs);
    image.write(folder);
    assertThat(theirs).hasContent("theirs");
    assertThat(StagedImage.read(folder)).contains(image);
  }
}
