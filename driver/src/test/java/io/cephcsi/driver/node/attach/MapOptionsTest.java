package io.cephcsi.driver.node.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MapOptionsTest {
  private static String map(String text, AttacherKind kind) {
    return MapOptions.MAP.of(Map.of("mapOptions", text), kind);
  }

  @Test
  void eachAttacherGetsItsOwn() {
    String text = "krbd:lock_on_read, queue_depth=1024;nbd:try-netlink;fuse:rbd_op_threads=2;";
    assertThat(map(text, AttacherKind.KRBD)).isEqualTo("lock_on_read,queue_depth=1024");
    assertThat(map(text, AttacherKind.NBD)).isEqualTo("try-netlink");
    assertThat(map(text, AttacherKind.FUSE)).isEqualTo("rbd_op_threads=2");
  }

  @Test
  void withoutANameTheyAreForTheKernel() {
    assertThat(map("noudev", AttacherKind.KRBD)).isEqualTo("noudev");
    assertThat(map("noudev", AttacherKind.FUSE)).isEmpty();
    assertThat(map("", AttacherKind.FUSE)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "krbd:ms_mode=prefer-crc,rxbounce,exclusive,lock_timeout=10,alloc_size=65536",
        "krbd:read_from_replica=localize,crush_location=rack:a|host:b.c,abort_on_full",
        "rbd:notrim,compression_hint=none,osd_request_timeout=30,noshare",
        "nbd:try-netlink,io-timeout=330,reattach-timeout=330,max_part=4,rbd_cache=false",
        "rbd-nbd:exclusive;krbd:udev",
        "nbd:rbd_cache_size=1G,rbd_readahead_max_bytes=999999999,nbds_max=64",
        "fuse:rbd_cache_size=64M,rbd_qos_iops_limit=100,rbd_cache_max_dirty_age=1.5"
      })
  void whatIsDocumentedIsAllowed(String text) {
    MapOptions.MAP.require(Map.of("mapOptions", text));
    MapOptions.UNMAP.require(Map.of("unmapOptions", "krbd:force,noudev;nbd:force"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "iscsi:x",
        "nbd:rbd_cache_size=2G",
        "nbd:rbd_cache_size=9999999999",
        "nbd:rbd_cache_size=9999999K",
        "fuse:rbd_readahead_max_bytes=999999T",
        "nbd:objecter_inflight_op_bytes=1025M",
        "nbd:rbd_op_threads=1000",
        "nbd:nbds_max=100000",
        "krbd:name=admin",
        "krbd:secret=AQB",
        "krbd:key=AQB",
        "krbd:keyfile=/etc/shadow",
        "krbd:conf=/etc/passwd",
        "krbd:fsid=1",
        "krbd:ip=10.0.0.1",
        "krbd:ro",
        "krbd:queue_depth=x",
        "krbd:queue_depth",
        "krbd:lock_on_read=1",
        "krbd:noudev\nx",
        "krbd:crush_location=a:b\u0000",
        "nbd:log_file=/tmp/x",
        "nbd:log-file=/tmp/x",
        "nbd:admin_socket=/tmp/x",
        "nbd:plugin_dir=/tmp",
        "nbd:keyring=/x",
        "nbd:device=/dev/nbd0",
        "nbd:cookie=x",
        "nbd:quiesce-hook=/tmp/x",
        "nbd:encryption-passphrase-file=/etc/shadow",
        "nbd:io-timeout=1 --log_file=/x",
        "fuse:log_file=/tmp/x",
        "fuse:admin_socket=/tmp/x",
        "fuse:plugin_dir=/tmp",
        "fuse:erasure_code_dir=/tmp",
        "fuse:rbd_plugins=pwl_cache",
        "fuse:rbd_persistent_cache_path=/tmp",
        "fuse:rbd_cache=$pid",
        "fuse:rbd_cache=true\nlog_file=/tmp/x",
        "fuse:mon_host=10.0.0.1",
        "fuse:key=AQB",
        "fuse:[client]"
      })
  void allElseIsInvalidAndNamedWithoutItsValue(String text) {
    for (AttacherKind kind : AttacherKind.values()) {
      assertThatThrownBy(() -> map(text, kind))
          .hasMessageStartingWith("mapOptions")
          .hasMessageNotContainingAny("AQB", "\n", "/etc")
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
    }
    assertThatThrownBy(() -> MapOptions.UNMAP.require(Map.of("unmapOptions", text)))
        .isInstanceOf(VolumeException.class);
  }

  @Test
  void ofWhatAnotherDriverWroteDownIsKeptWhatIsAllowed() {
    assertThat(MapOptions.UNMAP.kept("force,log_file=/tmp/x", AttacherKind.NBD)).isEqualTo("force");
    assertThat(MapOptions.UNMAP.kept("", AttacherKind.KRBD)).isEmpty();
  }
}
