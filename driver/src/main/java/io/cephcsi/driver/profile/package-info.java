/**
 * Events of the JDK's flight recorder for what the driver does: {@code io.cephcsi.Rpc}, {@code
 * io.cephcsi.TrackerChange} and {@code io.cephcsi.Reclaim}; those of native calls are in {@code
 * io.cephcsi.bindings.profile}. They are off unless a recording turns them on, and cost a look at a
 * field then. They hold no request, no secret and no message.
 */
@NullMarked
package io.cephcsi.driver.profile;

import org.jspecify.annotations.NullMarked;
