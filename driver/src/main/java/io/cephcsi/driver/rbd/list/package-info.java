/** Lists of volumes and of snapshots. */
@NullMarked
package io.cephcsi.driver.rbd.list;

import org.jspecify.annotations.NullMarked;
