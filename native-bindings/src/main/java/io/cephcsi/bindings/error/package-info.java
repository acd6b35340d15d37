/** Errors of the cluster as typed exceptions, and the one gate that return codes pass. */
@NullMarked
package io.cephcsi.bindings.error;

import org.jspecify.annotations.NullMarked;
