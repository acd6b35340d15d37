/**
 * libcephfs: mounting a file system inside this process, directories, snapshots, extended
 * attributes, quotas and files.
 *
 * <p>Every call blocks until the MDS answers; libcephfs has no timeout for it, so a caller needs
 * threads that may hang. Objects are safe for use by several threads at once. No parameter and no
 * result is null: what may be missing is an {@link java.util.Optional}. A failed call throws {@link
 * io.cephcsi.bindings.error.CephException} with operation, object and errno.
 */
@NullMarked
package io.cephcsi.bindings.cephfs;

import org.jspecify.annotations.NullMarked;
