/** The registry of running operations: one for each key, surviving its caller. */
@NullMarked
package io.cephcsi.driver.operation;

import org.jspecify.annotations.NullMarked;
