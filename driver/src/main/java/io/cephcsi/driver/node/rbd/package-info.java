/** RBD volumes on this node: staged, formatted, mounted, grown, trimmed, measured. */
@NullMarked
package io.cephcsi.driver.node.rbd;

import org.jspecify.annotations.NullMarked;
