/** The program: its commands with their options and output, the configuration file and the log. */
@NullMarked
package io.cephcsi.driver.cli;

import org.jspecify.annotations.NullMarked;
