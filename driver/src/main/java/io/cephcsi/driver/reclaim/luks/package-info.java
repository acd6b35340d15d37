/** LUKS2 in user space, read-only: what is free in an encrypted image, with its passphrase. */
@NullMarked
package io.cephcsi.driver.reclaim.luks;

import org.jspecify.annotations.NullMarked;
