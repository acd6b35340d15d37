/**
 * Calls to servers by HTTP that may be slow, broken or hostile: bounded in time and memory. And the
 * API of Kubernetes by them.
 */
@NullMarked
package io.cephcsi.driver.http;

import org.jspecify.annotations.NullMarked;
