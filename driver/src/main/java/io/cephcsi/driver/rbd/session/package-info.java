/** What one call works with, and what it finds: volumes, snapshots, images. */
@NullMarked
package io.cephcsi.driver.rbd.session;

import org.jspecify.annotations.NullMarked;
