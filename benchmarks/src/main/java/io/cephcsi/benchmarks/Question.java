package io.cephcsi.benchmarks;

import java.util.List;

/** Something that is measured, each time in turns with the same done by others. */
@FunctionalInterface
interface Question {
  /** Measures; leaves nothing on the cluster. */
  List<Finding> ask(BenchSetup setup) throws Exception;
}
