package io.cephcsi.driver.rbd.group;

import io.cephcsi.driver.rbd.encryption.KeyOrigin;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * What opens encrypted volumes that a group snapshot is taken of. It is asked for before that is
 * taken, and once more after it: the header of LUKS in the snapshot is opened by a passphrase that
 * did not change in between. For one thread; blocks on the cluster and the KMS.
 */
final class SourceKeys implements AutoCloseable {
  private record Held(VolumeKey key, KeyOrigin origin) {}

  private final Map<VolumeId, Held> held = new HashMap<>();

  private SourceKeys() {}

  /**
   * Those of volumes; nothing is asked for one that is not encrypted.
   *
   * @throws io.cephcsi.driver.volume.VolumeException as of the KMS; FAILED_PRECONDITION where there
   *     is no passphrase
   */
  static SourceKeys of(Collection<GroupedVolume> sources) {
    SourceKeys keys = new SourceKeys();
    try {
      sources.stream().filter(SourceKeys::isEncrypted).forEach(keys::fetch);
      return keys;
    } catch (RuntimeException e) {
      keys.close();
      throw e;
    }
  }

  static boolean isEncrypted(GroupedVolume source) {
    return source.volume().entry().isEncrypted();
  }

  private void fetch(GroupedVolume source) {
    OpenVolume volume = source.volume();
    VolumeKey key =
        volume.session().key(source.id(), volume.pool(), source.imageId(), volume.entry());
    held.put(source.id(), new Held(key, key.origin()));
  }

  /**
   * Gives the image of a snapshot, which no caller has got, the passphrase of its volume.
   *
   * @param copy of the snapshot
   * @throws io.cephcsi.driver.volume.VolumeException ABORTED when the passphrase was changed
   *     meanwhile, or an attempt before has left another: the snapshot is to be taken again, under
   *     a new id; as of the KMS
   */
  void give(GroupedVolume source, VolumeKey copy) {
    Held of = held.get(source.id());
    if (of == null) {
      throw new IllegalStateException("the passphrase of " + source.id() + " was not asked for");
    }
    of.key().requireUnchanged(of.origin());
    copy.adopt(of.origin());
  }

  @Override
  public void close() {
    held.values().forEach(each -> each.origin().close());
  }
}
