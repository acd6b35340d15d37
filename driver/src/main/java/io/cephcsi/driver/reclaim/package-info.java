/** Frees the space of volumes that no client uses. */
@NullMarked
package io.cephcsi.driver.reclaim;

import org.jspecify.annotations.NullMarked;
