package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sizes and offsets that the decoders use are those of the C headers: the compiler agrees. */
class RbdStructsTest {
  @TempDir Path folder;

  private final Map<String, Long> expected = new LinkedHashMap<>();

  private void size(String type, long bytes) {
    expected.put("sizeof(" + type + ")", bytes);
  }

  private void offset(String type, String field, long bytes) {
    expected.put("offsetof(" + type + ", " + field + ")", bytes);
  }

  @Test
  void theCompilerAgreesWithTheDecoders() throws IOException, InterruptedException {
    size("rbd_image_spec_t", ImageName.BYTES);
    offset("rbd_image_spec_t", "name", 8);
    size("rbd_image_info_t", ImageInfo.BYTES);
    offset("rbd_image_info_t", "obj_size", 8);
    offset("rbd_image_info_t", "num_objs", 16);
    offset("rbd_image_info_t", "order", 24);
    size("rbd_linked_image_spec_t", ChildImage.BYTES);
    offset("rbd_linked_image_spec_t", "pool_name", 8);
    offset("rbd_linked_image_spec_t", "pool_namespace", 16);
    offset("rbd_linked_image_spec_t", "image_id", 24);
    offset("rbd_linked_image_spec_t", "image_name", 32);
    offset("rbd_linked_image_spec_t", "trash", 40);
    size("rbd_snap_spec_t", ParentImage.SNAPSHOT_BYTES);
    offset("rbd_snap_spec_t", "namespace_type", 8);
    offset("rbd_snap_spec_t", "name", 16);
    size("rbd_snap_info_t", 24);
    offset("rbd_snap_info_t", "size", 8);
    offset("rbd_snap_info_t", "name", 16);
    size("rbd_trash_image_info_t", TrashEntry.BYTES);
    offset("rbd_trash_image_info_t", "name", 8);
    offset("rbd_trash_image_info_t", "source", 16);
    offset("rbd_trash_image_info_t", "deletion_time", 24);
    offset("rbd_trash_image_info_t", "deferment_end_time", 32);
    size("rbd_image_watcher_t", Watcher.BYTES);
    offset("rbd_image_watcher_t", "id", 8);
    offset("rbd_image_watcher_t", "cookie", 16);
    size("rbd_group_info_t", GroupName.BYTES);
    offset("rbd_group_info_t", "pool", 8);
    size("rbd_group_image_info_t", GroupImage.BYTES);
    offset("rbd_group_image_info_t", "pool", 8);
    offset("rbd_group_image_info_t", "state", 16);
    size("rbd_group_snap_info_t", GroupSnapshot.BYTES);
    offset("rbd_group_snap_info_t", "state", 8);
    size("rbd_snap_group_namespace_t", GroupSnapshotRef.BYTES);
    offset("rbd_snap_group_namespace_t", "group_name", 8);
    offset("rbd_snap_group_namespace_t", "group_snap_name", 16);
    size("rbd_mirror_image_info_t", MirrorInfo.BYTES);
    offset("rbd_mirror_image_info_t", "state", 8);
    offset("rbd_mirror_image_info_t", "primary", 12);
    size("rbd_mirror_image_site_status_t", MirrorSite.BYTES);
    offset("rbd_mirror_image_site_status_t", "state", 8);
    offset("rbd_mirror_image_site_status_t", "description", 16);
    offset("rbd_mirror_image_site_status_t", "last_update", 24);
    offset("rbd_mirror_image_site_status_t", "up", 32);
    size("rbd_mirror_image_global_status_t", MirrorStatus.BYTES);
    offset("rbd_mirror_image_global_status_t", "info", 8);
    offset("rbd_mirror_image_global_status_t", "site_statuses_count", 24);
    offset("rbd_mirror_image_global_status_t", "site_statuses", 32);
    for (MirrorMode mode : MirrorMode.values()) {
      expected.put("RBD_MIRROR_IMAGE_MODE_" + mode, (long) mode.number());
      assertThat(MirrorMode.of(mode.number())).isEqualTo(mode);
    }
    for (MirrorSite.State state : MirrorSite.State.values()) {
      expected.put("MIRROR_IMAGE_STATUS_STATE_" + state, (long) state.number);
    }
    size("struct timespec", Timespec.BYTES);
    offset("struct timespec", "tv_nsec", 8);
    expected.put("RBD_IMAGE_OPTION_FEATURES", 1L);
    expected.put("RBD_IMAGE_OPTION_ORDER", 2L);
    expected.put("RBD_IMAGE_OPTION_STRIPE_UNIT", 3L);
    expected.put("RBD_IMAGE_OPTION_STRIPE_COUNT", 4L);
    expected.put("RBD_IMAGE_OPTION_DATA_POOL", 10L);
    expected.put("RBD_IMAGE_OPTION_CLONE_FORMAT", 12L);
    for (ImageFeature feature : ImageFeature.values()) {
      expected.put("RBD_FEATURE_" + feature, feature.mask());
      assertThat(ImageFeature.named(feature.cephName())).contains(feature);
      assertThat(ImageFeature.of(feature.mask())).containsExactly(feature);
    }

    StringBuilder source =
        new StringBuilder("#include <stddef.h>\n#include <time.h>\n#include <rbd/librbd.h>\n");
    expected.forEach(
        (expression, value) ->
            source
                .append("_Static_assert((long) (")
                .append(expression)
                .append(") == ")
                .append(value)
                .append(", \"")
                .append(expression)
                .append("\");\n"));
    Path file = folder.resolve("structs.c");
    Files.writeString(file, source);
    Process compiler =
        new ProcessBuilder("cc", "-std=c11", "-fsyntax-only", file.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("out").toFile())
            .start();
    assertThat(compiler.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(Files.readString(folder.resolve("out"))).isEmpty();
    assertThat(compiler.exitValue()).isZero();
  }
}
