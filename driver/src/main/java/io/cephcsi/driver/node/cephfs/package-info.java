/** CephFS volumes on this node: staged by ceph-fuse or the kernel, shown, measured. */
@NullMarked
package io.cephcsi.driver.node.cephfs;

import org.jspecify.annotations.NullMarked;
