package io.cephcsi.driver.node;

/**
 * Which RBD image, as {@code rbd} writes it.
 *
 * @param pool its pool
 * @param namespace its RADOS namespace; empty for the default
 * @param image its name
 */
public record ImageSpec(String pool, String namespace, String image) {
  /** {@code pool/image} or {@code pool/namespace/image}. */
  @Override
  public String toString() {
    return pool + "/" + (namespace.isEmpty() ? "" : namespace + "/") + image;
  }
}
