package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.ClientAddress;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who has the locks of an image, and of the images in a group. */
class LockOwnersIT extends RbdCase {
  private String free;
  private String group;

  @AfterEach
  void remove() {
    pool.removeGroup(group);
    pool.remove(name, Progress.NONE);
    pool.remove(free, Progress.NONE);
  }

  private static String locked(RbdImage image) {
    image.write(0, new byte[] {1}); // takes the lock
    assertThat(image.lock().isOwner()).isTrue();
    return image.id();
  }

  @Test
  void anotherClientThatHasALockIsFound() {
    create(LOCKED, 4);
    free = "free-" + name;
    group = "group-" + name;
    pool.create(free, 4L * OBJECT, with(LOCKED));
    pool.createGroup(group);
    pool.group(group).addImage(pool, free);
    try (RadosCluster other = ceph.connect();
        IoContext otherIo = other.openPool(ceph.pool());
        IoContext elsewhere = other.openPool(ceph.otherPool())) {
      RbdPool theirs = new RbdPool(otherIo);
      LockOwners ofGroup = LockOwners.ofGroup(pool, group);
      try (RbdImage image = theirs.open(name)) {
        String id = locked(image);
        String address = ClientAddress.bare(other.addresses());
        LockOwners ofImage = LockOwners.ofImage(pool, id);
        assertThat(ofImage.other(at -> true).map(ClientAddress::bare)).contains(address);
        assertThat(ofImage.other(at -> false)).isEmpty();
        assertThat(LockOwners.ofImage(theirs, id).other(at -> true)).isEmpty(); // its own
        assertThat(ofGroup.other(at -> true)).isEmpty(); // not a member yet
        pool.group(group).addImage(pool, name);
        assertThat(ofGroup.other(at -> true).map(ClientAddress::bare)).contains(address);
        assertThat(ofGroup.other(at -> false)).isEmpty();
        assertThat(LockOwners.ofGroup(theirs, group).other(at -> true)).isEmpty();
      }
      assertThat(ofGroup.other(at -> true)).isEmpty();
      RbdPool away = new RbdPool(elsewhere);
      assertThat(LockOwners.ofImage(away, "none").other(at -> true)).isEmpty();
      assertThat(LockOwners.ofGroup(away, "none").other(at -> true)).isEmpty();
    }
  }

  @Test
  void imagesOfAGroupInAnotherPoolAreLookedAtThere() {
    create(LOCKED, 4);
    free = "free-" + name;
    group = "group-" + name;
    pool.create(free, 4L * OBJECT, with(LOCKED));
    pool.createGroup(group);
    try (IoContext otherIo = cluster.openPool(ceph.otherPool());
        RadosCluster other = ceph.connect();
        IoContext theirIo = other.openPool(ceph.otherPool())) {
      RbdPool away = new RbdPool(otherIo);
      away.create(name, 4L * OBJECT, with(LOCKED));
      pool.group(group).addImage(away, name);
      try (RbdImage image = new RbdPool(theirIo).open(name)) {
        locked(image);
        assertThat(LockOwners.ofGroup(pool, group).other(at -> true)).isPresent();
      }
      pool.group(group).removeImage(away, name);
      away.remove(name, Progress.NONE);
    }
  }
}
