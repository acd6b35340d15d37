/**
 * The gRPC servers on Unix sockets: request log without secrets, limits, and the table from errors
 * to status codes.
 */
@NullMarked
package io.cephcsi.driver.grpc;

import org.jspecify.annotations.NullMarked;
