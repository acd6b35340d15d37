/** The checks of pools and file systems: journal, images, subvolumes, trash and groups. */
@NullMarked
package io.cephcsi.driver.fsck.check;

import org.jspecify.annotations.NullMarked;
