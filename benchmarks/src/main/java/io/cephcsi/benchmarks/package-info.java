/** Benchmarks of the hot paths; each class asks one question. */
@NullMarked
package io.cephcsi.benchmarks;

import org.jspecify.annotations.NullMarked;
