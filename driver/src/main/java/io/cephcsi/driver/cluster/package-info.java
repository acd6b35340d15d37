/** Clusters of the configuration, credentials, and connections that are shared by leases. */
@NullMarked
package io.cephcsi.driver.cluster;

import org.jspecify.annotations.NullMarked;
