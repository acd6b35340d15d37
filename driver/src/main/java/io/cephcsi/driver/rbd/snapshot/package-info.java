/** Snapshots of volumes. */
@NullMarked
package io.cephcsi.driver.rbd.snapshot;

import org.jspecify.annotations.NullMarked;
