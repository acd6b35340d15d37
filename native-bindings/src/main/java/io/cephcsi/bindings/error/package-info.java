/** Errors of the cluster as typed exceptions, and the check of return codes. */
@NullMarked
package io.cephcsi.bindings.error;

import org.jspecify.annotations.NullMarked;
