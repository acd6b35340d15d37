package io.cephcsi.driver.csiaddons;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Two calls on the same groups and volumes at once, in one driver, and in two, which do not know
 * each other's locks. The end is always one that one of them alone could have made.
 */
class GroupRaceIT extends GroupRaceCase {
  private static final int ROUNDS = 16;

  @Test
  void ofTwoModificationsTheEndIsTheSetOfOne() throws Exception {
    String a = newVolume();
    String b = newVolume();
    String c = newVolume();
    VolumeGroup group = groups.create(newName());
    String id = group.getVolumeGroupId();
    int both = 0;
    for (int i = 0; i < ROUNDS; i++) {
      groups.modify(id, c);
      TestGroups second = i % 2 == 0 ? theirs : groups;
      Ends ends = race(i, () -> groups.modify(id, a), () -> second.modify(id, b, c));
      Set<String> members = groups.members(id);
      assertThat(ends.ours()).isIn(Code.OK, Code.ABORTED);
      assertThat(ends.theirs()).isIn(Code.OK, Code.ABORTED);
      if (ends.ours() == Code.OK && ends.theirs() == Code.OK) {
        both++;
      }
      assertThat(List.of(Set.of(a), Set.of(b, c), Set.of(c))).contains(Set.copyOf(members));
      if (ends.ours() != Code.OK && ends.theirs() == Code.OK) {
        assertThat(members).containsExactlyInAnyOrder(b, c);
      }
      if (ends.ours() == Code.OK && ends.theirs() != Code.OK) {
        assertThat(members).containsExactly(a);
      }
      assertThat(groups.images(TestGroups.rbdGroup(group)))
          .containsAll(members.stream().map(GroupCase::image).toList());
      groups.modify(id, members.toArray(String[]::new));
      assertThat(groups.images(TestGroups.rbdGroup(group)))
          .containsExactlyInAnyOrderElementsOf(members.stream().map(GroupCase::image).toList());
    }
    System.out.printf("both modifications succeeded in %d of %d rounds%n", both, ROUNDS);
    groups.delete(id);
    List.of(a, b, c).forEach(driver::delete);
  }

  @Test
  void aVolumeIsDeletedOrGroupedButNeverBoth() throws Exception {
    VolumeGroup group = groups.create(newName());
    String id = group.getVolumeGroupId();
    int deleted = 0;
    int grouped = 0;
    for (int i = 0; i < 2 * ROUNDS; i++) {
      String a = newVolume();
      Ends ends = race(i, () -> groups.modify(id, a), () -> other.delete(a));
      assertThat(ends.ours() == Code.OK && ends.theirs() == Code.OK)
          .as("round %d: %s", i, ends)
          .isFalse();
      if (ends.ours() == Code.OK) {
        grouped++;
        assertThat(ends.theirs()).isIn(Code.FAILED_PRECONDITION, Code.ABORTED);
        assertThat(groups.members(id)).containsExactly(a);
        assertThat(POOL.images()).contains(image(a));
        groups.modify(id);
      } else {
        assertThat(ends.ours()).isIn(Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.ABORTED);
        assertThat(groups.members(id)).isEmpty();
        deleted += ends.theirs() == Code.OK ? 1 : 0;
      }
      driver.delete(a);
    }
    System.out.printf("%d deleted, %d grouped of %d%n", deleted, grouped, 2 * ROUNDS);
    groups.delete(id);
    assertThat(deleted).isPositive();
    assertThat(grouped).isPositive();
  }

  /** What was answered as taken out of a group is not deleted with it. */
  @Test
  void aVolumeThatWasTakenOutOfAGroupOutlivesIt() throws Exception {
    int taken = 0;
    int deleted = 0;
    for (int i = 0; i < ROUNDS; i++) {
      String a = newVolume();
      String b = newVolume();
      String id = groups.create(newName(), a, b).getVolumeGroupId();
      TestGroups second = i % 2 == 0 ? theirs : groups;
      Ends ends = race(i, () -> groups.delete(id), () -> second.modify(id, b));
      assertThat(ends.ours()).isIn(Code.OK, Code.ABORTED, Code.FAILED_PRECONDITION);
      assertThat(ends.theirs())
          .isIn(Code.OK, Code.ABORTED, Code.NOT_FOUND, Code.FAILED_PRECONDITION);
      if (ends.theirs() == Code.OK) {
        taken++;
        assertThat(POOL.images()).as("round %d: %s", i, ends).contains(image(a));
      } else if (ends.ours() == Code.OK) {
        deleted++;
        assertThat(POOL.images()).doesNotContain(image(a), image(b));
      }
      groups.delete(id);
      driver.delete(a);
      driver.delete(b);
    }
    System.out.printf("%d taken out, %d deleted of %d%n", taken, deleted, ROUNDS);
  }

  @Test
  void ofTwoCreationsOfANameThereIsOneGroup() throws Exception {
    String a = newVolume();
    String b = newVolume();
    for (int i = 0; i < ROUNDS; i++) {
      String name = newName();
      String[] second = i % 2 == 0 ? new String[] {a} : new String[] {b};
      Ends ends = race(i, () -> groups.create(name, a), () -> theirs.create(name, second));
      List<Code> codes = List.of(ends.ours(), ends.theirs());
      assertThat(codes)
          .allMatch(
              code ->
                  Set.of(Code.OK, Code.ABORTED, Code.ALREADY_EXISTS, Code.FAILED_PRECONDITION)
                      .contains(code));
      String winner = ends.theirs() == Code.OK && ends.ours() != Code.OK ? second[0] : a;
      VolumeGroup group = groups.create(name, winner);
      assertThat(groups.members(group.getVolumeGroupId())).containsExactly(winner);
      assertThat(groups.images(TestGroups.rbdGroup(group))).containsExactly(image(winner));
      groups.modify(group.getVolumeGroupId());
      groups.delete(group.getVolumeGroupId());
    }
    driver.delete(a);
    driver.delete(b);
  }
}
