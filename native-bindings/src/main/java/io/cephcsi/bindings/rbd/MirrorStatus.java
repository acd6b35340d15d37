package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The mirroring of an image on all sites ({@code rbd_mirror_image_global_status_t}).
 *
 * @param info the mirroring of the image on this site; empty if it is not mirrored
 * @param sites what the daemons say, at most one entry for each site
 */
public record MirrorStatus(Optional<MirrorInfo> info, List<MirrorSite> sites) {
  static final int BYTES = 40;
  private static final int INFO = 8;

  /** Copies the list. */
  public MirrorStatus {
    sites = List.copyOf(sites);
  }

  /** What the daemon of this site says; empty or not up if it never said anything. */
  public Optional<MirrorSite> local() {
    return sites.stream().filter(MirrorSite::isLocal).findFirst();
  }

  /** What the daemons of the other sites say. */
  public List<MirrorSite> remote() {
    return sites.stream().filter(site -> !site.isLocal()).toList();
  }

  static MirrorStatus decode(long status) {
    long count = Integer.toUnsignedLong(NativeMemory.getInt(status + 24));
    long array = NativeMemory.getLong(status + 32);
    List<MirrorSite> sites = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      sites.add(MirrorSite.decode(array + i * MirrorSite.BYTES));
    }
    return new MirrorStatus(MirrorInfo.decode(status + INFO), sites);
  }
}
