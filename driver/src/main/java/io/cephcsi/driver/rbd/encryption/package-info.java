/** Encrypted images: what a StorageClass asks for, and what the cluster keeps of their keys. */
@NullMarked
package io.cephcsi.driver.rbd.encryption;

import org.jspecify.annotations.NullMarked;
