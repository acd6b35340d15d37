package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.rados.IoContext;
import java.util.List;
import java.util.Map;

/** Which storage of a cluster a driver serves, and where that keeps its journals. */
public enum Storage {
  /** RADOS block devices: the journal is in the pools of the images. */
  RBD {
    @Override
    public Credentials credentials(Map<String, String> secrets) {
      return Credentials.fromSecrets(secrets);
    }

    @Override
    String namespace(ClusterConfig config) {
      return config.rbdNamespace();
    }

    @Override
    String group(ClusterConfig config) {
      return "";
    }

    @Override
    public List<Long> journalPools(Lease lease) {
      return MonitorQueries.pools(lease.cluster()).stream()
          .filter(PoolInfo::mayHoldRbd)
          .map(PoolInfo::id)
          .toList();
    }
  },
  /** The Ceph file system: the journal is in the metadata pools. */
  CEPHFS {
    @Override
    public Credentials credentials(Map<String, String> secrets) {
      return Credentials.fromAdminSecrets(secrets);
    }

    @Override
    String namespace(ClusterConfig config) {
      return config.cephFsNamespace();
    }

    @Override
    String group(ClusterConfig config) {
      return config.subvolumeGroup();
    }

    @Override
    public List<Long> journalPools(Lease lease) {
      return MonitorQueries.fileSystems(lease.cluster()).stream()
          .map(FileSystemInfo::metadataPoolId)
          .sorted()
          .toList();
    }
  };

  /**
   * The credentials in an RPC's secrets.
   *
   * @throws io.cephcsi.driver.volume.VolumeException UNAUTHENTICATED when they are missing
   */
  public abstract Credentials credentials(Map<String, String> secrets);

  /** The RADOS namespace of its journals. */
  abstract String namespace(ClusterConfig config);

  /** The group of its volumes, where several groups may share a journal; else empty. */
  abstract String group(ClusterConfig config);

  /** The ids of the pools that may hold journals, sorted; one round trip to the monitors. */
  public abstract List<Long> journalPools(Lease lease);

  /**
   * Opens a pool in the namespace of the journals.
   *
   * @throws io.cephcsi.bindings.error.CephException.NotFound if the cluster has no such pool
   */
  public IoContext open(Lease lease, long poolId) {
    return lease.pool(poolId, namespace(lease.config()));
  }
}
