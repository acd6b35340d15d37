/**
 * CephFS volumes as subvolumes, their snapshots and clones, and shallow volumes, which show a
 * snapshot. Everything blocks on the cluster.
 */
@NullMarked
package io.cephcsi.driver.cephfs;

import org.jspecify.annotations.NullMarked;
