/** Passphrases of encrypted volumes, and the key management systems (KMS) that keep them. */
@NullMarked
package io.cephcsi.driver.kms;

import org.jspecify.annotations.NullMarked;
