/** Keeps machines away from a cluster by address (CSI-Addons NetworkFence). */
@NullMarked
package io.cephcsi.driver.fence;

import org.jspecify.annotations.NullMarked;
