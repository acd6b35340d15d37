package io.cephcsi.bindings.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CephFsFileIT extends CephFsCase {
  @Test
  void whatIsWrittenAnotherClientReads() {
    byte[] data = new byte[5 << 20];
    new Random(1).nextBytes(data);
    try (CephFsFile file = mount.createFile(directory + "/file", 0644)) {
      file.write(100, data);
      file.flush();
    }
    try (CephFsMount other = CephFsMount.mount(cluster, CEPH.fileSystem(), ROOT);
        CephFsFile file = other.openFile(directory + "/file")) {
      assertThat(file.read(100, data.length)).isEqualTo(data);
      assertThat(file.read(0, 100)).containsOnly(0);
      assertThat(file.read(50 + data.length, 100)).hasSize(50);
      assertThat(file.read(10L << 30, 100)).isEmpty();
    }
  }

  @Test
  void whatIsNotThereIsNotFoundAndReadersCannotWrite() {
    assertThatThrownBy(() -> mount.openFile(directory + "/none"))
        .isInstanceOf(CephException.NotFound.class);
    mount.createFile(directory + "/file", 0644).close();
    try (CephFsFile file = mount.openFile(directory + "/file")) {
      assertThatThrownBy(() -> file.write(0, new byte[1])).hasMessageContaining("EBADF");
    }
  }
}
