/** Mirroring of volumes to another cluster: who is primary, schedules, and what was copied. */
@NullMarked
package io.cephcsi.driver.rbd.mirror;

import org.jspecify.annotations.NullMarked;
