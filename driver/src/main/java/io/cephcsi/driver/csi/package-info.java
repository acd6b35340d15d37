/** The services of the CSI specification: decode, lock, call, encode; nothing else. */
@NullMarked
package io.cephcsi.driver.csi;

import org.jspecify.annotations.NullMarked;
