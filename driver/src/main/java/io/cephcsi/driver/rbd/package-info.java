/** Volumes as RBD images. */
@NullMarked
package io.cephcsi.driver.rbd;

import org.jspecify.annotations.NullMarked;
