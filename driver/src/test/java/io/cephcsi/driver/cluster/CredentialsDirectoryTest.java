package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CredentialsDirectoryTest {
  @TempDir
  @SuppressWarnings("NullAway.Init")
  private Path folder;

  private CredentialsDirectory credentials;

  @BeforeEach
  void open() {
    credentials = new CredentialsDirectory(folder);
  }

  private static void write(Path place, String id, String key) throws IOException {
    Files.createDirectories(place);
    Files.writeString(place.resolve("userID"), id);
    Files.writeString(place.resolve("userKey"), key);
  }

  @Test
  void eachClusterHasItsUserAndKey() throws IOException {
    write(folder.resolve("one"), "client.csi\n", "key1\n");
    write(folder.resolve("two"), "other", "key2");
    assertThat(credentials.clusterIds()).containsExactly("one", "two");
    assertThat(credentials.find("one")).contains(new Credentials("csi", "key1"));
    assertThat(credentials.find("two")).contains(new Credentials("other", "key2"));
    assertThat(credentials.find("three")).isEmpty();
    assertThat(credentials.find("one").toString()).doesNotContain("key1");
  }

  /** As the chart has it while a Secret of its credentials is missing. */
  @Test
  void aCallOnAClusterThatHasNoneSaysWhereTheyAreMissingUntilTheyAreThere() throws IOException {
    ClusterDirectory clusters =
        new ClusterDirectory(Files.writeString(folder.resolve("config.json"), "[]"));
    Duration patience = Duration.ofSeconds(1);
    try (ConnectionPool connections = new ConnectionPool(patience, patience)) {
      DriverConnections own =
          new DriverConnections(Storage.RBD, clusters, credentials, connections);
      assertThatThrownBy(() -> own.credentials("one", Map.of()))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAUTHENTICATED))
          .hasMessageContaining("\"one\"")
          .hasMessageContaining("the folder of --credentials has no files for this cluster");
      write(folder.resolve("one"), "csi", "key");
      assertThat(own.credentials("one", Map.of())).isEqualTo(new Credentials("csi", "key"));
    }
  }

  @Test
  void aChangedKeyHoldsAtOnce() throws IOException {
    write(folder.resolve("one"), "csi", "old");
    assertThat(credentials.find("one")).contains(new Credentials("csi", "old"));
    write(folder.resolve("one"), "csi", "new");
    assertThat(credentials.find("one")).contains(new Credentials("csi", "new"));
  }

  @Test
  void aMountedSecretIsReadAsAWholeAcrossASwapOfItsLink() throws IOException {
    Path one = Files.createDirectories(folder.resolve("one"));
    write(one.resolve("..1"), "csi", "old");
    write(one.resolve("..2"), "csi2", "new");
    Files.createSymbolicLink(one.resolve("..data"), Path.of("..1"));
    Files.createSymbolicLink(one.resolve("userID"), Path.of("..data/userID"));
    Files.createSymbolicLink(one.resolve("userKey"), Path.of("..data/userKey"));
    assertThat(credentials.clusterIds()).containsExactly("one");
    assertThat(credentials.find("one")).contains(new Credentials("csi", "old"));
    Path next = Files.createSymbolicLink(one.resolve("..data_tmp"), Path.of("..2"));
    Files.move(next, one.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
    assertThat(credentials.find("one")).contains(new Credentials("csi2", "new"));
  }

  @Test
  void idsThatLeadOutOfTheFolderHaveNoCredentials() throws IOException {
    write(folder.resolve("inner").resolve("deep"), "csi", "key");
    CredentialsDirectory inner = new CredentialsDirectory(folder.resolve("inner"));
    write(folder.resolve("outside"), "csi", "key");
    assertThat(inner.find("../outside")).isEmpty();
    assertThat(inner.find("..")).isEmpty();
    assertThat(inner.find("")).isEmpty();
    assertThat(inner.find("deep/../deep")).isEmpty();
  }

  @Test
  void aFolderWithoutKeyIsUnauthenticated() throws IOException {
    Files.writeString(Files.createDirectories(folder.resolve("one")).resolve("userID"), "csi");
    assertThatThrownBy(() -> credentials.find("one"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAUTHENTICATED));
    assertThat(new CredentialsDirectory(folder.resolve("none")).clusterIds()).isEmpty();
  }
}
