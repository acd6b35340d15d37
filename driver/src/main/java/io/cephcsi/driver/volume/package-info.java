/** Values of the domain and its errors; imports nothing of the project. */
@NullMarked
package io.cephcsi.driver.volume;

import org.jspecify.annotations.NullMarked;
