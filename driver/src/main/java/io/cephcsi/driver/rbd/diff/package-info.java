/** Which ranges of snapshots have data, and which changed. */
@NullMarked
package io.cephcsi.driver.rbd.diff;

import org.jspecify.annotations.NullMarked;
