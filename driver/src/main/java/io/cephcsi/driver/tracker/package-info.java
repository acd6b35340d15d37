/** Reference trackers of CephFS snapshots in RADOS, byte-compatible with ceph-csi. */
@NullMarked
package io.cephcsi.driver.tracker;

import org.jspecify.annotations.NullMarked;
