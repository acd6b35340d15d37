/** A node's work: attachers, mounts, format and check, trim, stats. */
@NullMarked
package io.cephcsi.driver.node;

import org.jspecify.annotations.NullMarked;
