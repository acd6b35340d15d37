package io.cephcsi.driver.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ListPositionTest {
  @Test
  void aTokenGivesItsPositionBack() {
    ListPosition position = ListPosition.behind(JournalKind.VOLUME, "cluster", 7, "pvc-1");
    assertThat(ListPosition.parse(JournalKind.VOLUME, position.token())).isEqualTo(position);
    assertThat(position.isIn("cluster")).isTrue();
    assertThat(position.isIn("another")).isFalse();
  }

  @Test
  void aTokenFitsInAStringFieldWhateverTheName() {
    for (String name : new String[] {"n".repeat(128), "é".repeat(64), "😀".repeat(32)}) {
      String token =
          ListPosition.behind(JournalKind.SNAPSHOT, "c".repeat(64), Long.MAX_VALUE, name).token();
      assertThat(token).hasSizeLessThanOrEqualTo(128).matches("[A-Za-z0-9_-]+");
      assertThat(name).startsWith(ListPosition.parse(JournalKind.SNAPSHOT, token).stem());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"invalid-token", "AAAA", "1", "...", "pvc-1", "EAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
  void whatIsNoTokenIsAborted(String text) {
    assertBad(text);
  }

  @Test
  void aTokenThatWasChangedOrIsOfAnotherListIsAborted() {
    String token = ListPosition.behind(JournalKind.VOLUME, "cluster", 7, "pvc-1").token();
    char last = token.charAt(10) == 'A' ? 'B' : 'A';
    assertBad(token.substring(0, 10) + last + token.substring(11));
    assertBad(token + "AAAA");
    assertBad(ListPosition.behind(JournalKind.SNAPSHOT, "cluster", 7, "pvc-1").token());
  }

  private static void assertBad(String token) {
    assertThatThrownBy(() -> ListPosition.parse(JournalKind.VOLUME, token))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
  }
}
