package io.cephcsi.bindings.rados;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;

/**
 * How to reach a cluster and as whom. Immutable; {@link #toString()} does not show the key.
 *
 * <p>Waits for the cluster are bounded: an operation by {@code operationTimeout}, connecting by
 * {@code connectTimeout}, the newest OSD map by twice {@code operationTimeout}. librados offers no
 * bound for commands to the manager and for the answers to a notification; the methods that may
 * wait for these say so.
 */
public final class ConnectionSettings {
  private final String userId;
  private final Map<String, String> options;
  private final Optional<Path> configFile;
  private final Duration connectTimeout;
  private final Duration operationTimeout;
  private final Executor longWaits;

  private ConnectionSettings(Builder builder) {
    this.userId = builder.userId;
    this.options = Map.copyOf(builder.options);
    this.configFile = builder.configFile;
    this.connectTimeout = builder.connectTimeout;
    this.operationTimeout = builder.operationTimeout;
    this.longWaits = builder.longWaits;
  }

  /**
   * Starts settings for a user.
   *
   * @param userId the id without the type: {@code admin} for {@code client.admin}
   */
  public static Builder user(String userId) {
    return new Builder(userId);
  }

  /** The user's id without the type. */
  public String userId() {
    return userId;
  }

  /** Ceph configuration options, among them the key: never print them. */
  Map<String, String> options() {
    return options;
  }

  /** A ceph.conf to read first. */
  public Optional<Path> configFile() {
    return configFile;
  }

  /** How long connecting may take. */
  public Duration connectTimeout() {
    return connectTimeout;
  }

  /** How long one operation of an OSD or a monitor may take before it fails with ETIMEDOUT. */
  public Duration operationTimeout() {
    return operationTimeout;
  }

  /** Runs, on the calling thread, what waits for a client that perhaps does not answer. */
  public Executor longWaits() {
    return longWaits;
  }

  @Override
  public String toString() {
    return "client."
        + userId
        + configFile.map(file -> " by " + file).orElse("")
        + Optional.ofNullable(options.get("mon_host")).map(host -> " at " + host).orElse("");
  }

  /** Collects settings; not safe for several threads. */
  public static final class Builder {
    private final String userId;
    private final Map<String, String> options = new LinkedHashMap<>();
    private Optional<Path> configFile = Optional.empty();
    private Duration connectTimeout = Duration.ofSeconds(15);
    private Duration operationTimeout = Duration.ofSeconds(30);
    private Executor longWaits = Runnable::run;

    private Builder(String userId) {
      this.userId = userId;
    }

    /** The monitors' addresses, separated by commas, as the option {@code mon_host} takes them. */
    public Builder monitors(String monHost) {
      return option("mon_host", monHost);
    }

    /** The user's secret key in base64; kept in memory only. */
    public Builder key(String key) {
      return option("key", key);
    }

    /** A ceph.conf, read before the options are set. */
    public Builder configFile(Path file) {
      configFile = Optional.of(file);
      return this;
    }

    /** Any option of Ceph's configuration, such as {@code rbd_concurrent_management_ops}. */
    public Builder option(String name, String value) {
      options.put(name, value);
      return this;
    }

    /** How long connecting may take, more than 0, rounded up to seconds; default 15 s. */
    public Builder connectTimeout(Duration timeout) {
      connectTimeout = positive(timeout);
      return this;
    }

    /** How long one operation may take, more than 0, rounded up to seconds; default 30 s. */
    public Builder operationTimeout(Duration timeout) {
      operationTimeout = positive(timeout);
      return this;
    }

    /**
     * Sets what runs the part of a call that waits for another client for longer than usual: it
     * runs on the calling thread, which may let another thread do its other work meanwhile.
     */
    public Builder longWaits(Executor waits) {
      longWaits = waits;
      return this;
    }

    private static Duration positive(Duration timeout) {
      if (timeout.isNegative() || timeout.isZero()) {
        throw new IllegalArgumentException("a timeout must be more than 0, not " + timeout);
      }
      return timeout;
    }

    /** The settings. */
    public ConnectionSettings build() {
      return new ConnectionSettings(this);
    }
  }
}
