/**
 * The native side: direct mappings of the C functions with primitive signatures, ownership of
 * native handles, reused native memory and callbacks. Nothing outside {@code io.cephcsi.bindings}
 * may import this package.
 */
@NullMarked
package io.cephcsi.bindings.internal;

import org.jspecify.annotations.NullMarked;
