package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.cluster.MonitorQueries.PoolSpace;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MonitorQueriesTest {
  private static JsonNode json(String text) throws JsonProcessingException {
    return new ObjectMapper().readTree(text.replace('\'', '"'));
  }

  @Test
  void poolsForgetSnapshotsAsLongAsTheyAreQueued() throws JsonProcessingException {
    assertThat(
            MonitorQueries.decodeForgetting(
                json(
                    """
                    {'removed_snaps_queue': [{'pool': 1, 'snaps': [{'begin': 4, 'length': 1}]}],
                     'new_removed_snaps': [{'pool': 3, 'snaps': []}], 'new_purged_snaps': []}
                    """)))
        .containsExactlyInAnyOrder(1L, 3L);
    assertThat(MonitorQueries.decodeForgetting(json("{}"))).isEmpty();
  }

  @Test
  void poolsSayWhatTheyAreForAndWhetherTheyAreFull() throws JsonProcessingException {
    assertThat(
            MonitorQueries.decodePools(
                json(
                    """
                    [{'pool_id': 4, 'pool_name': 'ec', 'flags_names': 'hashpspool',
                      'erasure_code_profile': 'k2', 'application_metadata': {'rbd': {}}},
                     {'pool_id': 2, 'pool_name': 'rbd', 'quota_max_bytes': 99,
                      'flags_names': 'hashpspool,full,full_quota',
                      'erasure_code_profile': '', 'application_metadata': {'rbd': {}}}]
                    """)))
        .containsExactly(
            new PoolInfo(2, "rbd", Set.of("rbd"), false, true, 99),
            new PoolInfo(4, "ec", Set.of("rbd"), true, false, 0));
  }

  @Test
  void fileSystemsHaveTheirPools() throws JsonProcessingException {
    assertThat(
            MonitorQueries.decodeFileSystems(
                json(
                    """
                    {'epoch': 9, 'btime': 'new', 'filesystems': [
                      {'id': 3, 'mdsmap': {'fs_name': 'b', 'metadata_pool': 7, 'data_pools': [8, 6]}},
                      {'id': 1, 'mdsmap': {'fs_name': 'a', 'metadata_pool': 4, 'data_pools': [5]}}]}
                    """)))
        .containsExactly(
            new FileSystemInfo(1, "a", 4, List.of(5L)),
            new FileSystemInfo(3, "b", 7, List.of(8L, 6L)));
    assertThat(MonitorQueries.decodeFileSystems(json("{'filesystems': []}"))).isEmpty();
  }

  @Test
  void aQuotaLeavesWhatItDoesNotUse() throws JsonProcessingException {
    assertThat(
            MonitorQueries.decodeSpace(
                json(
                    """
                    {'pools': [
                      {'name': 'a', 'stats': {'max_avail': 1000, 'stored': 10, 'quota_bytes': 0}},
                      {'name': 'b', 'stats': {'max_avail': 1000, 'stored': 10, 'quota_bytes': 50}},
                      {'name': 'c', 'stats': {'max_avail': 9, 'stored': 10, 'quota_bytes': 50}},
                      {'name': 'd', 'stats': {'max_avail': 9, 'stored': 60, 'quota_bytes': 50}}]}
                    """)))
        .containsEntry("a", new PoolSpace(1000, 0))
        .containsEntry("b", new PoolSpace(40, 50))
        .containsEntry("c", new PoolSpace(9, 50))
        .containsEntry("d", new PoolSpace(0, 50));
  }

  @Test
  void onlyErrorsThatConcernDataAreDangers() throws JsonProcessingException {
    assertThat(
            MonitorQueries.decodeDangers(
                json(
                    """
                    {'status': 'HEALTH_ERR', 'checks': {
                      'OSD_FULL': {'severity': 'HEALTH_ERR', 'summary': {'message': '1 full osd'}},
                      'MDS_ALL_DOWN': {'severity': 'HEALTH_ERR', 'summary': {'message': 'x'}},
                      'OSD_DOWN': {'severity': 'HEALTH_WARN', 'summary': {'message': 'y'}}}}
                    """)))
        .contains("OSD_FULL: 1 full osd");
    assertThat(MonitorQueries.decodeDangers(json("{'status': 'HEALTH_OK', 'checks': {}}")))
        .isEmpty();
  }

  @Test
  void theOldestDaemonDecidesWhatAClusterCan() throws JsonProcessingException {
    JsonNode answer =
        json(
            """
            {'mon': {'ceph version 20.2.4 (b5f) tentacle (stable)': 3},
             'mgr': {'ceph version 20.2.4 (b5f) tentacle (stable)': 2},
             'mds': {'ceph version 18.2.7 (6b0) reef (stable)': 1,
                     'ceph version 20.2.4 (b5f) tentacle (stable)': 2},
             'overall': {'ceph version 16.2.15 (618) pacific (stable)': 9}}
            """);
    assertThat(MonitorQueries.decodeOldestRelease(answer, Set.of("mgr"))).hasValue(20);
    assertThat(MonitorQueries.decodeOldestRelease(answer, Set.of("mgr", "mds"))).hasValue(18);
    assertThat(MonitorQueries.decodeOldestRelease(answer, Set.of("mgr", "rgw"))).isEmpty();
    assertThat(
            MonitorQueries.decodeOldestRelease(
                json("{'mgr': {'ceph version Development (no_version)': 1}}"), Set.of("mgr")))
        .isEmpty();
  }
}
