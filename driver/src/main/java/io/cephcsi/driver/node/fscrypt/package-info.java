/**
 * Encrypted files of volumes (fscrypt): the metadata that google/fscrypt keeps beside them, their
 * keys, and the folder that workloads see. What is read of a volume was written by somebody else.
 */
@NullMarked
package io.cephcsi.driver.node.fscrypt;

import org.jspecify.annotations.NullMarked;
