/**
 * The private protocol between librbd and the OSDs: methods of the object class {@code cls_rbd},
 * and the objects, omap keys and bytes that librbd keeps in RADOS. Images, snapshots, clones,
 * trash, groups and usage, without opening an image.
 *
 * <p>No header of Ceph describes this protocol, and no test of Ceph guards it for others. With each
 * release of Ceph compare this package with {@code src/cls/rbd/cls_rbd.cc}, {@code
 * cls_rbd_types.h}, and {@code src/librbd}; the tests here compare what is written with what the
 * installed librbd writes, byte for byte. What is not plain is left to librbd, that is to {@link
 * io.cephcsi.bindings.rbd}, which knows nothing of this package.
 *
 * <p>Every call blocks until the cluster answers or the connection's operation timeout passes,
 * unless its Javadoc says otherwise. Static methods are safe for several threads.
 */
@NullMarked
package io.cephcsi.bindings.cls;

import org.jspecify.annotations.NullMarked;
