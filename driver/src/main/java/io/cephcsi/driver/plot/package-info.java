/** Plots for reports: text of SVG and HTML that needs nothing else. Pure. */
@NullMarked
package io.cephcsi.driver.plot;

import org.jspecify.annotations.NullMarked;
