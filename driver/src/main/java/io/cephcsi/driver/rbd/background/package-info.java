/** What goes on after a call: emptying the trash, and flattening. */
@NullMarked
package io.cephcsi.driver.rbd.background;

import org.jspecify.annotations.NullMarked;
