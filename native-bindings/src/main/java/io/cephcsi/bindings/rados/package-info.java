/**
 * librados: connections, pools, objects, compound operations, commands, watch and notify.
 *
 * <p>Every call blocks until the cluster answers or the connection's operation timeout passes,
 * unless its Javadoc says otherwise. Objects are safe for use by several threads at once, except
 * {@link io.cephcsi.bindings.rados.WriteOperation} and {@link
 * io.cephcsi.bindings.rados.ReadOperation}, which belong to the thread that builds them. No
 * parameter and no result is null: what may be missing is an {@link java.util.Optional}. A failed
 * call throws {@link io.cephcsi.bindings.error.CephException} with operation, object and errno.
 */
@NullMarked
package io.cephcsi.bindings.rados;

import org.jspecify.annotations.NullMarked;
