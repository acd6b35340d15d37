package io.cephcsi.driver.journal;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.cluster.RegisteredNode;
import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives volumes of a pool to nodes, and to no node more than it can have. The volumes that a node
 * with a maximum was given are recorded beside its registration, as uuids with a space between.
 *
 * <p>A volume is recorded after it was given to the node, and not taken out when it is taken from
 * it: where a record says that the node has as many as it can have, each is looked up in the
 * journal, and those that the node does not have are left out of the record. So neither a driver
 * that died nor another program that deleted a volume leaves one that counts for ever.
 *
 * <p>Records of several pools of the cluster are added up. A record changes only if it is what was
 * read before: of two drivers that give volumes of one pool to a node, neither goes beyond the
 * maximum.
 */
public final class NodeVolumes {
  private static final Logger LOG = LoggerFactory.getLogger(NodeVolumes.class);
  private static final int ATTEMPTS = 50;
  private static final String SEPARATOR = " ";
  private static final Pattern UUIDS = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  private final NodeRegistry nodes;
  private final Lease lease;
  private final IoContext pool;
  private final String instanceId;

  /**
   * @param nodes the nodes that exist
   * @param lease the cluster of the volumes
   * @param pool the pool of the volumes' journal objects
   * @param instanceId tells several drivers on one pool apart
   */
  public NodeVolumes(NodeRegistry nodes, Lease lease, IoContext pool, String instanceId) {
    this.nodes = nodes;
    this.lease = lease;
    this.pool = pool;
    this.instanceId = instanceId;
  }

  /**
   * Gives a volume to a node. To a node with a maximum that takes a write more, a question to the
   * monitors, and a read of each other pool that may hold volumes.
   *
   * @param entry what the journal says of the volume
   * @throws VolumeException NOT_FOUND if the node does not exist; RESOURCE_EXHAUSTED if it has as
   *     many volumes as it can have; else as {@link AttachmentJournal#attach}
   */
  public void attach(VolumeId id, JournalEntry entry, Attachment wanted) {
    RegisteredNode node = nodes.require(lease, pool, wanted.nodeId());
    AttachmentJournal attachments = attachments(pool);
    boolean isThere = AttachmentJournal.nodes(entry).contains(node.id());
    if (node.maxVolumes() == 0 || (isThere && decode(node.volumes()).contains(id.uuid()))) {
      attachments.attach(id, entry, wanted);
      return;
    }
    Set<UUID> others = isThere ? decode(node.volumes()) : withRoom(node, id);
    boolean isNew = attachments.attach(id, entry, wanted);
    try {
      for (int attempt = 1; !record(node, others, id); attempt++) {
        if (attempt == ATTEMPTS) {
          throw new VolumeException(
              Reason.ABORTED,
              "node " + node.id() + " is being given volumes by other drivers; try again");
        }
        node = nodes.require(lease, pool, node.id());
        others = isNew ? withRoom(node, id) : decode(node.volumes());
      }
    } catch (VolumeException e) {
      if (isNew) {
        attachments.withdraw(id, node.id());
      }
      throw e;
    }
  }

  private boolean record(RegisteredNode node, Set<UUID> others, VolumeId id) {
    Set<UUID> all = new LinkedHashSet<>(others);
    all.add(id.uuid());
    return nodes.setVolumes(
        pool, node, all.stream().map(UUID::toString).collect(Collectors.joining(SEPARATOR)));
  }

  /**
   * The other volumes of the pool that a node was given.
   *
   * @throws VolumeException RESOURCE_EXHAUSTED if there is no room for this one beside them
   */
  private Set<UUID> withRoom(RegisteredNode node, VolumeId id) {
    Set<UUID> here = decode(node.volumes());
    here.remove(id.uuid());
    Map<IoContext, Set<UUID>> elsewhere = elsewhere(node);
    if (count(here, elsewhere) >= node.maxVolumes()) {
      here.removeIf(uuid -> !attachments(pool).isAttached(uuid, node.id()));
      elsewhere.forEach(
          (other, volumes) ->
              volumes.removeIf(uuid -> !attachments(other).isAttached(uuid, node.id())));
    }
    if (count(here, elsewhere) >= node.maxVolumes()) {
      throw new VolumeException(
          Reason.RESOURCE_EXHAUSTED,
          "node "
              + node.id()
              + " has "
              + count(here, elsewhere)
              + " volumes and can have "
              + node.maxVolumes()
              + ": unpublish one, or start its plugin with a larger --max-volumes");
    }
    return here;
  }

  private Map<IoContext, Set<UUID>> elsewhere(RegisteredNode node) {
    Map<IoContext, Set<UUID>> elsewhere = new LinkedHashMap<>();
    for (IoContext other : nodes.otherPools(lease, pool)) {
      try {
        elsewhere.put(other, decode(nodes.volumes(other, node.id())));
      } catch (CephException e) {
        LOG.debug("volumes in pool {} do not count: {}", other.poolId(), e.getMessage());
      }
    }
    return elsewhere;
  }

  private static int count(Set<UUID> here, Map<IoContext, Set<UUID>> elsewhere) {
    return here.size() + elsewhere.values().stream().mapToInt(Set::size).sum();
  }

  private AttachmentJournal attachments(IoContext of) {
    return new AttachmentJournal(instanceId, of);
  }

  /** The volumes of a record; what is no uuid is left out. */
  static Set<UUID> decode(String record) {
    Set<UUID> volumes = new LinkedHashSet<>();
    for (String word : record.split(SEPARATOR, -1)) {
      if (UUIDS.matcher(word).matches()) {
        volumes.add(UUID.fromString(word));
      }
    }
    return volumes;
  }
}
