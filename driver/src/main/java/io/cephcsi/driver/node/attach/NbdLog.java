package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * What becomes of the log of the rbd-nbd that serves a volume: the StorageClass parameters {@code
 * cephLogDir} and {@code cephLogStrategy}.
 *
 * @param directory where it goes in the end; below {@code /var/log}
 * @param strategy what is done with it when the volume is unstaged
 */
public record NbdLog(Path directory, Strategy strategy) {
  /** The names of the parameters. */
  static final String DIRECTORY = "cephLogDir";

  static final String STRATEGY = "cephLogStrategy";

  private static final Path LOGS = Path.of("/var/log");
  private static final Path USUAL = LOGS.resolve("ceph");

  /** What is done with a log. */
  public enum Strategy {
    /** It is deleted. */
    REMOVE("remove"),
    /** It is kept, by gzip. */
    COMPRESS("compress"),
    /** It is kept. */
    PRESERVE("preserve");

    private final String word;

    Strategy(String word) {
      this.word = word;
    }

    /** What the parameter calls it. */
    public String word() {
      return word;
    }
  }

  /**
   * Reads the parameters.
   *
   * @param context of the volume, or parameters of a StorageClass
   * @return empty where neither is given: then nothing is logged
   * @throws VolumeException INVALID_ARGUMENT for a directory that is not below {@code /var/log},
   *     and for an unknown strategy
   */
  public static Optional<NbdLog> of(Map<String, String> context) {
    return of(context.getOrDefault(DIRECTORY, ""), context.getOrDefault(STRATEGY, ""));
  }

  /**
   * Reads the values of the parameters; empty for what is not given.
   *
   * @throws VolumeException as {@link #of(Map)}
   */
  public static Optional<NbdLog> of(String directory, String strategy) {
    return directory.isEmpty() && strategy.isEmpty()
        ? Optional.empty()
        : Optional.of(new NbdLog(directory(directory), strategy(strategy)));
  }

  private static Path directory(String text) {
    if (text.isEmpty()) {
      return USUAL;
    }
    try {
      Path path = Path.of(text);
      if (path.startsWith(LOGS)
          && path.equals(path.normalize())
          && text.chars().noneMatch(Character::isISOControl)) {
        return path;
      }
    } catch (InvalidPathException e) {
      // as any other that cannot be meant
    }
    throw VolumeException.invalid(DIRECTORY + " must be " + LOGS + " or a folder below it");
  }

  private static Strategy strategy(String text) {
    if (text.isEmpty()) {
      return Strategy.REMOVE;
    }
    for (Strategy one : Strategy.values()) {
      if (one.word.equals(text)) {
        return one;
      }
    }
    throw VolumeException.invalid(STRATEGY + " must be remove, compress or preserve");
  }
}
