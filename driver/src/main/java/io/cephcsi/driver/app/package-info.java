/** The command line, the configuration, and the one place where objects are wired. */
@NullMarked
package io.cephcsi.driver.app;

import org.jspecify.annotations.NullMarked;
