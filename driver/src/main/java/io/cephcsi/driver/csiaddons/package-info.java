/** The services of the CSI-Addons specification: decode, lock, call, encode; nothing else. */
@NullMarked
package io.cephcsi.driver.csiaddons;

import org.jspecify.annotations.NullMarked;
