package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.RbdCase;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RestoredNameIT extends RbdCase {
  private String make() {
    create(PLAIN, 1);
    return ImageId.find(pool, name).orElseThrow();
  }

  @Test
  void aNameIsRestoredByEachOfItsPlaces() {
    String id = make();
    io.remove("rbd_id." + name);
    assertThat(ImageCondition.restoreName(io, name, id)).isTrue();
    assertThat(ImageId.find(pool, name)).isEqualTo(Optional.of(id));
    ceph.rados("-p", ceph.pool(), "rmomapkey", "rbd_directory", "name_" + name);
    ceph.rados("-p", ceph.pool(), "rmomapkey", "rbd_directory", "id_" + id);
    assertThat(ImageCondition.restoreName(io, name, id)).isTrue();
    assertThat(ImageHeader.name(io, id)).isEqualTo(Optional.of(name));
    assertThat(ImageHeader.idInDirectory(io, name)).isEqualTo(Optional.of(id));
    ceph.rbd("rm", "--no-progress", spec());
  }

  @Test
  void anImageInTheTrashAndOneThatIsGoneGetNone() {
    String id = make();
    ceph.rbd("trash", "mv", spec());
    assertThat(ImageCondition.restoreName(io, name, id)).isFalse();
    assertNoName();
    ceph.rbd("trash", "rm", "--no-progress", ceph.pool() + "/" + id);
    assertThat(ImageCondition.restoreName(io, name, id)).isFalse();
    assertNoName();
  }

  private void assertNoName() {
    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(ImageHeader.idInDirectory(io, name)).isEmpty();
  }

  @Test
  void anImageThatWasRenamedKeepsItsNameOnly() {
    String id = make();
    ceph.rbd("mv", spec(), spec() + "-renamed");
    assertThat(ImageCondition.restoreName(io, name, id)).isFalse();
    assertNoName();
    assertThat(ImageHeader.name(io, id)).isEqualTo(Optional.of(name + "-renamed"));
    ceph.rbd("rm", "--no-progress", spec() + "-renamed");
  }

  @Test
  void theNameOfAnotherImageIsNotTaken() {
    String former = make();
    ceph.rbd("mv", spec(), spec() + "-former");
    String id = make();
    assertThat(ImageCondition.restoreName(io, name, former)).isFalse();
    assertThat(ImageId.find(pool, name)).isEqualTo(Optional.of(id));
    ceph.rbd("rm", "--no-progress", spec());
    ceph.rbd("rm", "--no-progress", spec() + "-former");
  }
}
