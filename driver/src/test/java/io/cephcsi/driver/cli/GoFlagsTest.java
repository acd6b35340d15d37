package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class GoFlagsTest {
  @Test
  void optionsWithoutACommandAreThoseOfServe() {
    assertThat(GoFlags.normalize("--type=rbd", "--nodeid=n"))
        .containsExactly("serve", "--type=rbd", "--nodeid=n");
    assertThat(GoFlags.normalize("serve", "--type=rbd")).containsExactly("serve", "--type=rbd");
  }

  @Test
  void aSingleDashBecomesTwo() {
    assertThat(GoFlags.normalize("-type=rbd", "-nodeid", "n", "-v=5"))
        .containsExactly("serve", "--type=rbd", "--nodeid", "n", "--v=5");
    assertThat(GoFlags.normalize("serve", "-type", "rbd"))
        .containsExactly("serve", "--type", "rbd");
  }

  @Test
  void shortOptionsAndValuesStay() {
    assertThat(GoFlags.normalize("--type=rbd", "-v", "5"))
        .containsExactly("serve", "--type=rbd", "-v", "5");
    assertThat(GoFlags.normalize("--pidlimit", "-1")).containsExactly("serve", "--pidlimit", "-1");
    assertThat(GoFlags.normalize("-pidlimit=-1")).containsExactly("serve", "--pidlimit=-1");
    assertThat(GoFlags.normalize("serve", "-")).containsExactly("serve", "-");
  }

  @Test
  void helpAndVersionOfTheProgramAreLeftToIt() {
    assertThat(GoFlags.normalize("-h")).containsExactly("-h");
    assertThat(GoFlags.normalize("--help")).containsExactly("--help");
    assertThat(GoFlags.normalize("--version")).containsExactly("--version");
    assertThat(GoFlags.normalize("-version")).containsExactly("--version");
    assertThat(GoFlags.normalize("-help")).containsExactly("--help");
    assertThat(GoFlags.normalize()).isEmpty();
  }
}
