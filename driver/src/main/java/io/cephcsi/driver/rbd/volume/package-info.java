/** Volumes: created, deleted, grown, changed, attached. */
@NullMarked
package io.cephcsi.driver.rbd.volume;

import org.jspecify.annotations.NullMarked;
