/** Volume groups, and snapshots of several volumes at one point in time. */
@NullMarked
package io.cephcsi.driver.rbd.group;

import org.jspecify.annotations.NullMarked;
