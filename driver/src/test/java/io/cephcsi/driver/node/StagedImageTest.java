package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
            "one");
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
                true));
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

  @Test
  void aBrokenFileIsNoMissingFile() throws Exception {
    Files.writeString(folder.resolve("image-meta.json"), "{");
    assertThatThrownBy(() -> StagedImage.read(folder)).isInstanceOf(IllegalStateException.class);
  }
}
