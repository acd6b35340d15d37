package io.cephcsi.bindings.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OpenFileTest {
  @TempDir Path folder;

  /** Its number may be that of another file by then. */
  @Test
  void whatIsClosedTwiceClosesNothingElse() {
    int same = 0;
    for (int i = 0; i < 1000 && same < 10; i++) {
      OpenFile first = OpenFile.folder(folder);
      int number = first.descriptor();
      first.close();
      try (OpenFile second = OpenFile.folder(folder)) {
        same += second.descriptor() == number ? 1 : 0;
        first.close();
        assertThat(second.stat().isFolder()).isTrue();
        assertThatThrownBy(first::stat).isInstanceOf(CephException.class);
      }
    }
    assertThat(same).as("numbers that were used again").isEqualTo(10);
  }
}
