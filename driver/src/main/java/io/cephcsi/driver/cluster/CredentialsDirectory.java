package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's own credentials, for calls that carry no secrets: a folder with one sub-folder for
 * each clusterID, which holds the files {@code userID} and {@code userKey}, such as a mounted
 * Kubernetes Secret.
 *
 * <p>The files are read at every question, so that a key that was changed holds at once; both are a
 * few bytes. Keys are never logged. Safe for several threads.
 */
public final class CredentialsDirectory {
  private static final Logger LOG = LoggerFactory.getLogger(CredentialsDirectory.class);
  private static final String USER_ID = "userID";
  private static final String USER_KEY = "userKey";
  private static final String CURRENT = "..data"; // Kubernetes swaps this link to change all files
  private static final int ATTEMPTS = 3;
  private static final int MAX_BYTES = 4096;

  private final Path folder;

  /** The credentials below a folder; it may appear later. */
  public CredentialsDirectory(Path folder) {
    this.folder = folder;
  }

  /** The clusters that have a sub-folder with credentials, sorted. */
  public List<String> clusterIds() {
    TreeSet<String> ids = new TreeSet<>();
    try (Stream<Path> folders = Files.list(folder)) {
      folders
          .filter(path -> Files.exists(path.resolve(USER_ID)))
          .forEach(path -> ids.add(String.valueOf(path.getFileName())));
    } catch (IOException e) {
      LOG.warn("the credentials' folder {} cannot be read: {}", folder, e.toString());
    }
    ids.removeIf(id -> id.startsWith(".."));
    return List.copyOf(ids);
  }

  /**
   * The credentials for a cluster.
   *
   * @return empty when the cluster has no sub-folder
   * @throws VolumeException UNAUTHENTICATED when there is one without usable files
   */
  public Optional<Credentials> find(String clusterId) {
    if (!isPlainName(clusterId) || !Files.isDirectory(folder.resolve(clusterId))) {
      return Optional.empty();
    }
    Path directory = folder.resolve(clusterId);
    for (int attempt = 1; ; attempt++) {
      try {
        return Optional.of(read(directory));
      } catch (NoSuchFileException e) {
        if (attempt == ATTEMPTS) { // else the link was swapped between the two files
          throw unusable(directory, "has no file " + e.getFile(), e);
        }
      } catch (IOException e) {
        throw unusable(directory, "cannot be read: " + e.getClass().getSimpleName(), e);
      }
    }
  }

  /** A clusterID that is not the name of a file has no sub-folder. */
  private static boolean isPlainName(String clusterId) {
    return !clusterId.isEmpty()
        && !clusterId.startsWith("..")
        && !clusterId.equals(".")
        && clusterId.indexOf('/') < 0
        && clusterId.indexOf('\0') < 0;
  }

  private static Credentials read(Path directory) throws IOException {
    Path current = directory.resolve(CURRENT);
    Path files = Files.exists(current) ? current.toRealPath() : directory;
    return Credentials.fromSecrets(
        Map.of(USER_ID, text(files.resolve(USER_ID)), USER_KEY, text(files.resolve(USER_KEY))));
  }

  private static String text(Path file) throws IOException {
    if (Files.size(file) > MAX_BYTES) {
      throw new IOException(file + " is too large");
    }
    return Files.readString(file);
  }

  private static VolumeException unusable(Path directory, String problem, IOException e) {
    return new VolumeException(
        Reason.UNAUTHENTICATED, "the credentials' folder " + directory + " " + problem, e);
  }
}
