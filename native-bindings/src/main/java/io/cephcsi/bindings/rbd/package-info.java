/**
 * librbd: images, snapshots, clones, trash, groups, usage and space reclaim.
 *
 * <p>Every call blocks until the cluster answers or the connection's operation timeout passes,
 * unless its Javadoc says otherwise. Objects are safe for use by several threads at once. No
 * parameter and no result is null: what may be missing is an {@link java.util.Optional}. A failed
 * call throws {@link io.cephcsi.bindings.error.CephException} with operation, object and errno.
 */
@NullMarked
package io.cephcsi.bindings.rbd;

import org.jspecify.annotations.NullMarked;
