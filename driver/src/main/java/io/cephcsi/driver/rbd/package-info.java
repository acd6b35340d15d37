/**
 * Volumes as RBD images. Each call opens a {@link io.cephcsi.driver.rbd.session.RbdSession}; the
 * packages {@code group}, {@code volume}, {@code list}, {@code diff} and {@code snapshot} work with
 * it.
 */
@NullMarked
package io.cephcsi.driver.rbd;

import org.jspecify.annotations.NullMarked;
