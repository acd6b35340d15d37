/** The engine that frees space of volumes that nobody uses. */
@NullMarked
package io.cephcsi.driver.reclaim;

import org.jspecify.annotations.NullMarked;
