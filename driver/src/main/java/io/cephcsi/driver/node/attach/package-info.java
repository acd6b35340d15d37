/** The ways in which an RBD image becomes a block device of this node: krbd, rbd-nbd, FUSE. */
@NullMarked
package io.cephcsi.driver.node.attach;

import org.jspecify.annotations.NullMarked;
