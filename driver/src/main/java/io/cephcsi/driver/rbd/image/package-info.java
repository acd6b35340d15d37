/** Single steps on RBD images: finding, naming, cloning. They know no call. */
@NullMarked
package io.cephcsi.driver.rbd.image;

import org.jspecify.annotations.NullMarked;
