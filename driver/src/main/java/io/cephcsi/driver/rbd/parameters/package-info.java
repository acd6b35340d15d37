/** The parameters of classes for RBD, and the settings of a driver, checked. Pure. */
@NullMarked
package io.cephcsi.driver.rbd.parameters;

import org.jspecify.annotations.NullMarked;
