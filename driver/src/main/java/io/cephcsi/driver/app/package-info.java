/** What a process serves, validated, and the one place where objects are wired for it. */
@NullMarked
package io.cephcsi.driver.app;

import org.jspecify.annotations.NullMarked;
