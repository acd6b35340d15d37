package io.cephcsi.driver.app;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** Reads what stands for a socket or a kind of driver in configurations. */
public final class Endpoints {
  private static final String UNIX = "unix:";

  private Endpoints() {}

  /**
   * The path of a Unix socket: {@code unix:///csi/csi.sock}, {@code unix:/csi/csi.sock} or a plain
   * path.
   *
   * @throws ConfigException when it is none
   */
  public static Path socket(String endpoint) {
    String path = endpoint;
    if (path.startsWith(UNIX + "//")) {
      path = path.substring(UNIX.length() + 2);
    } else if (path.startsWith(UNIX)) {
      path = path.substring(UNIX.length());
    } else if (path.contains("://")) {
      throw new ConfigException(
          "endpoint "
              + endpoint
              + " is not a Unix socket: secrets would cross the network in clear");
    }
    ConfigException.require(!path.isEmpty(), "endpoint " + endpoint + " has no path");
    return path(path);
  }

  /**
   * A path of the file system.
   *
   * @throws ConfigException when the text cannot be one
   */
  public static Path path(String text) {
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      throw new ConfigException("the path " + e.getInput() + " is not valid: " + e.getReason(), e);
    }
  }

  /**
   * The kind of a driver: {@code rbd} or {@code cephfs}.
   *
   * @throws ConfigException when it is another
   */
  public static DriverConfig.Type type(String name) {
    return switch (name) {
      case "rbd" -> DriverConfig.Type.RBD;
      case "cephfs" -> DriverConfig.Type.CEPHFS;
      default -> throw new ConfigException("type " + name + " must be rbd or cephfs");
    };
  }
}
