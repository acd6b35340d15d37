/** The journal of volumes, snapshots and groups in RADOS omaps, byte-compatible with ceph-csi. */
@NullMarked
package io.cephcsi.driver.journal;

import org.jspecify.annotations.NullMarked;
