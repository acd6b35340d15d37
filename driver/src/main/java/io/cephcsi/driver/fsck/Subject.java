package io.cephcsi.driver.fsck;

import java.util.List;

/** Something that findings can be about. It can be looked at again, apart from all else. */
@FunctionalInterface
public interface Subject {
  /** What is wrong with it now, read from the cluster; blocks for some round trips. */
  List<Finding> look();
}
