/**
 * What volumes of RBD and of CephFS have in common on a node: requests, the check of their paths,
 * publishing, owners of files, statistics.
 */
@NullMarked
package io.cephcsi.driver.node;

import org.jspecify.annotations.NullMarked;
