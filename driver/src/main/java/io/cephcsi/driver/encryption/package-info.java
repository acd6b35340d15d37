/** What a StorageClass and the journal say of encryption, and the keys that belong to it. */
@NullMarked
package io.cephcsi.driver.encryption;

import org.jspecify.annotations.NullMarked;
