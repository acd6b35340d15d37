/** Metrics for Prometheus. */
@NullMarked
package io.cephcsi.driver.metrics;

import org.jspecify.annotations.NullMarked;
