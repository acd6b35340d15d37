package io.cephcsi.bindings.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CephFsDirectoryIT extends CephFsCase {
  @Test
  void allNamesAreReadOnceWhateverTheBufferHolds() {
    List<String> made = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      String name = "n".repeat(i % 200) + "-" + i + "-ä";
      mount.makeDirectory(directory + "/" + name, 0755);
      made.add(name);
    }
    assertThat(mount.names(directory)).containsExactlyInAnyOrderElementsOf(made);
    List<String> read = new ArrayList<>();
    try (CephFsDirectory open = mount.openDirectory(directory)) {
      List<String> some = open.nextNames(1);
      while (!some.isEmpty()) {
        read.addAll(some);
        some = open.nextNames(1);
      }
    }
    made.add(".");
    made.add("..");
    assertThat(read).containsExactlyInAnyOrderElementsOf(made);
  }

  @Test
  void noNameIsSkippedWithTheDots() {
    List<String> made = new ArrayList<>();
    for (String name : List.of("a", "b", "..c", ".d")) {
      mount.makeDirectory(directory + "/" + name, 0755);
      mount.makeDirectory(directory + "/.snap/s" + name, 0755);
      made.add(name);
      for (int again = 0; again < 2; again++) { // from the MDS, and from what the client remembers
        assertThat(mount.names(directory)).containsExactlyInAnyOrderElementsOf(made);
        assertThat(mount.names(directory + "/.snap"))
            .containsExactlyInAnyOrderElementsOf(made.stream().map(any -> "s" + any).toList());
        assertThat(mount.names(directory + "/.snap/s" + name))
            .containsExactlyInAnyOrderElementsOf(made);
      }
    }
    made.forEach(name -> mount.removeDirectory(directory + "/.snap/s" + name));
  }

  @Test
  void anEmptyDirectoryHasNoNames() {
    assertThat(mount.names(directory)).isEmpty();
  }

  @Test
  void whatIsNoDirectoryIsRefused() {
    mount.createFile(directory + "/file", 0644).close();
    assertThatThrownBy(() -> mount.openDirectory(directory + "/none"))
        .isInstanceOf(CephException.NotFound.class);
    assertThatThrownBy(() -> mount.openDirectory(directory + "/file"))
        .hasMessageContaining("ENOTDIR");
  }
}
