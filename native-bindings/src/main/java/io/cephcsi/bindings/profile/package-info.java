/**
 * Events of the JDK's flight recorder for native calls: {@code io.cephcsi.RadosOperation}, {@code
 * io.cephcsi.LibrbdCall} and {@code io.cephcsi.DiscardBatch}. They are off unless a recording turns
 * them on, and cost a look at a field then. They name functions, pools, images and objects, and
 * hold no data, no attribute's value and no key.
 *
 * <p>The duration of an asynchronous call ends when its caller sees that it is complete.
 */
@NullMarked
package io.cephcsi.bindings.profile;

import org.jspecify.annotations.NullMarked;
