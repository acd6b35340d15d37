/** What Linux offers on files and mounted file systems and Java has no call for. */
@NullMarked
package io.cephcsi.bindings.linux;

import org.jspecify.annotations.NullMarked;
