/** This machine: programs, mounts, block devices, /sys, files with secrets. It knows no volumes. */
@NullMarked
package io.cephcsi.driver.node.machine;

import org.jspecify.annotations.NullMarked;
