/** Compares what the journal, trackers and the cluster say of each other; changes nothing. */
@NullMarked
package io.cephcsi.driver.fsck;

import org.jspecify.annotations.NullMarked;
