/**
 * Calls of Linux on files and mounted file systems that Java does not offer.
 *
 * <p>Every call blocks for as long as the file system does. A failed call throws {@link
 * io.cephcsi.bindings.error.CephException} with the call, the path and errno. No parameter and no
 * result is null.
 */
@NullMarked
package io.cephcsi.bindings.linux;

import org.jspecify.annotations.NullMarked;
