package io.cephcsi.driver.app;

import io.cephcsi.driver.cephfs.CephFsAttachments;
import io.cephcsi.driver.cephfs.CephFsCapacity;
import io.cephcsi.driver.cephfs.CephFsGroupSnapshots;
import io.cephcsi.driver.cephfs.CephFsInventory;
import io.cephcsi.driver.cephfs.CephFsSnapshots;
import io.cephcsi.driver.cephfs.CephFsVolumes;
import io.cephcsi.driver.cephfs.QuiesceSupport;
import io.cephcsi.driver.cluster.ClientRecord;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.CredentialsDirectory;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.MonitorProbe;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.cluster.NodeReporter;
import io.cephcsi.driver.csi.CephFsBackend;
import io.cephcsi.driver.csi.CephFsGroupSnapshotBackend;
import io.cephcsi.driver.csi.ControllerService;
import io.cephcsi.driver.csi.GroupControllerService;
import io.cephcsi.driver.csi.IdentityService;
import io.cephcsi.driver.csi.RbdBackend;
import io.cephcsi.driver.csi.RbdGroupSnapshotBackend;
import io.cephcsi.driver.csi.SecretlessBackend;
import io.cephcsi.driver.csi.SnapshotMetadataService;
import io.cephcsi.driver.csiaddons.AddonsIdentityService;
import io.cephcsi.driver.csiaddons.FenceService;
import io.cephcsi.driver.csiaddons.NoNodeReclaimService;
import io.cephcsi.driver.csiaddons.NoReclaimService;
import io.cephcsi.driver.csiaddons.NoVolumeGroupService;
import io.cephcsi.driver.fence.NetworkFence;
import io.cephcsi.driver.grpc.MemoryBudget;
import io.cephcsi.driver.grpc.SocketServer;
import io.cephcsi.driver.journal.DamagedEntries;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.operation.SlowCalls;
import io.cephcsi.driver.rbd.diff.RbdSnapshotMetadata;
import io.cephcsi.driver.rbd.group.GroupInventory;
import io.cephcsi.driver.rbd.group.RbdGroupSnapshots;
import io.cephcsi.driver.rbd.group.StaleGroupMembers;
import io.cephcsi.driver.rbd.list.RbdInventory;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.snapshot.RbdSnapshots;
import io.cephcsi.driver.rbd.volume.RbdAttachments;
import io.cephcsi.driver.rbd.volume.RbdCapacity;
import io.cephcsi.driver.rbd.volume.RbdVolumes;
import io.cephcsi.proto.addons.identity.Capability;
import io.cephcsi.proto.csi.v1.PluginCapability;
import io.grpc.BindableService;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one place where objects are wired: everything that a configuration asks for, served until it
 * is closed.
 */
public final class DriverProcess implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DriverProcess.class);
  private static final int CALL_THREADS = 16;
  private static final Duration CANCEL_TIMEOUT = Duration.ofSeconds(5);

  private final DriverConfig config;
  private final DriverMetrics metrics = new DriverMetrics();
  private final MemoryBudget budget = new MemoryBudget();
  private final ClusterDirectory clusters;
  private final KmsConfig kms;
  private final ClientRecord clients;
  private final ConnectionPool connections;
  private final ClusterExecutors executors;
  private final MonitorProbe probe;
  private final List<OperationRegistry> registries = new ArrayList<>();
  private final List<SocketServer> servers = new ArrayList<>();
  private final Deque<AutoCloseable> others = new ArrayDeque<>();
  private boolean closed;

  private DriverProcess(DriverConfig config) {
    this.config = config;
    this.clusters = new ClusterDirectory(config.clustersFile(), config.clusterDefaults());
    this.kms = KmsConfig.ofProcess(config.kmsFile());
    this.clients = ClientRecord.at(config.clientsFile());
    this.connections =
        new ConnectionPool(config.connectTimeout(), config.operationTimeout(), clients);
    this.executors = new ClusterExecutors(clusters, CALL_THREADS, config.reclaims());
    this.probe = new MonitorProbe(clusters);
    metrics.operations(() -> registries.stream().mapToInt(OperationRegistry::calls).sum());
    metrics.damagedEntries(DamagedEntries::found);
  }

  /**
   * Starts all servers. That of the metrics may come later: volumes do not wait for its port.
   *
   * @throws IOException when a socket cannot be had; nothing is left running then
   */
  public static DriverProcess start(DriverConfig config) throws IOException {
    DriverProcess process = new DriverProcess(config);
    try {
      for (DriverConfig.Driver driver : config.drivers()) {
        process.serve(driver);
      }
      if (config.metrics().port() > 0) {
        process.others.push(process.metrics.serveWhenFree(config.metrics()));
      }
      if (!config.slowCalls().isZero()) {
        process.others.push(SlowCalls.log(config.slowCalls(), process.registries));
      }
      process.kms.report();
      process.probe.start();
      if (process.clients.hasDead()) {
        config.drivers().forEach(d -> process.access(d).ifPresent(DriverConnections::connectSoon));
      }
      return process;
    } catch (IOException | RuntimeException e) {
      process.close();
      throw e;
    }
  }

  private void serve(DriverConfig.Driver driver) throws IOException {
    OperationRegistry operations = new OperationRegistry(answerWithin(driver));
    registries.add(operations);
    List<BindableService> csi = new ArrayList<>();
    List<BindableService> addons = new ArrayList<>();
    List<Capability> abilities = new ArrayList<>();
    Supplier<CompletableFuture<List<PluginCapability.Service.Type>>> services =
        switch (driver.type()) {
          case RBD -> {
            addRbd(driver, operations, csi, addons, abilities);
            yield () -> CompletableFuture.completedFuture(PluginServices.rbd(driver));
          }
          case CEPHFS -> {
            QuiesceSupport support = quiesceSupport(driver);
            addCephFs(driver, operations, support, csi, addons);
            yield () -> support.advertised().thenApply(PluginServices::cephFs);
          }
        };
    NetworkFence fence = new NetworkFence(clusters, connections);
    addons.add(
        new FenceService(
            driver.type().storage(),
            fence,
            driver.controller(),
            driver.node(),
            operations,
            executors));
    abilities.addAll(AddonsIdentityService.networkFence(driver.controller()));
    if (driver.controller()) {
      abilities.add(AddonsIdentityService.controllerService());
    }
    if (driver.node()) {
      abilities.add(AddonsIdentityService.nodeService());
      reportNode(driver);
    }
    csi.add(
        new IdentityService(
            driver.name(), Version.current(), driver.controller(), services, probe::reached));
    addons.add(
        new AddonsIdentityService(driver.name(), Version.current(), abilities, probe::reached));
    listen(driver, csi, addons);
  }

  private QuiesceSupport quiesceSupport(DriverConfig.Driver driver) {
    QuiesceSupport support =
        driver.controller()
            ? access(driver).map(QuiesceSupport::start).orElseGet(QuiesceSupport::none)
            : QuiesceSupport.none();
    others.push(support);
    return support;
  }

  private void addRbd(
      DriverConfig.Driver driver,
      OperationRegistry operations,
      List<BindableService> csi,
      List<BindableService> addons,
      List<Capability> abilities) {
    RbdSettings settings =
        new RbdSettings(driver.instanceId(), config.cloneLimits(), config.imageLabels(), kms);
    RbdSessions sessions = new RbdSessions(clusters, connections, executors, operations, settings);
    others.push(sessions);
    if (driver.node()) {
      RbdNodeParts node = RbdNodeParts.of(driver, sessions, operations, executors, metrics);
      csi.add(node.csi());
      addons.addAll(List.of(node.reclaim(), node.rotation()));
      abilities.addAll(AddonsIdentityService.onStagedImages());
    }
    if (!driver.controller()) {
      return;
    }
    Optional<DriverConnections> own = access(driver);
    ControllerService calls =
        new ControllerService(
            own.map(access -> rbdAccess(driver, access, sessions)),
            new RbdBackend(
                new RbdVolumes(sessions, new StaleGroupMembers()),
                new RbdSnapshots(sessions),
                executors,
                driver.nodeSettings().hasTopology()),
            operations,
            executors);
    csi.add(calls);
    warmUp(driver, calls, operations);
    csi.add(
        new GroupControllerService(
            own,
            new RbdGroupSnapshotBackend(new RbdGroupSnapshots(sessions)),
            operations,
            executors));
    csi.add(new SnapshotMetadataService(own, new RbdSnapshotMetadata(sessions), executors));
    RbdAddons controller =
        RbdAddons.of(
            config,
            sessions,
            new GroupInventory(own, clusters, connections, executors, driver.instanceId()),
            metrics,
            operations,
            executors);
    addons.addAll(controller.services());
    abilities.addAll(controller.capabilities());
  }

  private SecretlessBackend rbdAccess(
      DriverConfig.Driver driver, DriverConnections access, RbdSessions sessions) {
    NodeRegistry nodes = nodes(driver, access);
    return new SecretlessBackend(
        access,
        new RbdInventory(access, executors, sessions, driver.instanceId()),
        new RbdCapacity(access),
        new RbdAttachments(sessions, nodes),
        nodes,
        driver.attach());
  }

  private void addCephFs(
      DriverConfig.Driver driver,
      OperationRegistry operations,
      QuiesceSupport support,
      List<BindableService> csi,
      List<BindableService> addons) {
    CephFsVolumes volumes =
        new CephFsVolumes(clusters, connections, operations, driver.instanceId(), kms);
    others.push(volumes);
    if (driver.node()) {
      csi.add(CephFsNodeParts.csi(driver, volumes, operations, executors));
      addons.add(new NoNodeReclaimService());
    }
    if (!driver.controller()) {
      return;
    }
    ControllerService calls =
        new ControllerService(
            access(driver).map(access -> cephFsAccess(driver, access, volumes)),
            new CephFsBackend(
                volumes, new CephFsSnapshots(volumes, operations), executors, copyWait(driver)),
            operations,
            executors);
    csi.add(calls);
    warmUp(driver, calls, operations);
    csi.add(
        new GroupControllerService(
            access(driver),
            new CephFsGroupSnapshotBackend(new CephFsGroupSnapshots(volumes, operations), support),
            operations,
            executors));
    addons.add(new NoReclaimService());
    addons.add(new NoVolumeGroupService());
  }

  private SecretlessBackend cephFsAccess(
      DriverConfig.Driver driver, DriverConnections access, CephFsVolumes volumes) {
    NodeRegistry nodes = nodes(driver, access);
    return new SecretlessBackend(
        access,
        new CephFsInventory(access, executors, volumes),
        new CephFsCapacity(access),
        new CephFsAttachments(volumes, nodes),
        nodes,
        driver.attach());
  }

  private void warmUp(
      DriverConfig.Driver driver, ControllerService calls, OperationRegistry operations) {
    access(driver)
        .ifPresent(a -> others.push(WarmUp.start(a, calls, driver.instanceId(), operations)));
  }

  private Optional<DriverConnections> access(DriverConfig.Driver driver) {
    return driver
        .credentials()
        .map(
            folder ->
                new DriverConnections(
                    driver.type().storage(),
                    clusters,
                    new CredentialsDirectory(folder),
                    connections));
  }

  private static NodeRegistry nodes(DriverConfig.Driver driver, DriverConnections access) {
    return new NodeRegistry(
        access,
        driver.instanceId(),
        driver.node() ? Optional.of(driver.ownNode()) : Optional.empty());
  }

  private void reportNode(DriverConfig.Driver driver) {
    access(driver)
        .ifPresent(
            access -> others.push(NodeReporter.start(nodes(driver, access), driver.ownNode())));
  }

  /** What a node does besides operations on the cluster, as to make a file system, takes longer. */
  private Duration answerWithin(DriverConfig.Driver driver) {
    return driver.node()
        ? config.connectTimeout().plus(config.operationTimeout().multipliedBy(3))
        : config.operationTimeout();
  }

  /** A call that waits is answered while it is not yet taken for one that hangs. */
  private Duration copyWait(DriverConfig.Driver driver) {
    Duration half = answerWithin(driver).dividedBy(2);
    return config.copyWait().compareTo(half) < 0 ? config.copyWait() : half;
  }

  private void listen(
      DriverConfig.Driver driver, List<BindableService> csi, List<BindableService> addons)
      throws IOException {
    if (driver.addonsEndpoint().isPresent()) {
      start(driver.endpoint(), driver.name(), csi);
      start(driver.addonsEndpoint().get(), driver.name(), addons);
    } else {
      csi.addAll(addons);
      start(driver.endpoint(), driver.name(), csi);
    }
  }

  private void start(Path socket, String name, List<BindableService> services) throws IOException {
    servers.add(SocketServer.start(socket, name, services, metrics, budget));
    LOG.info("{} {} serves {}", name, Version.current(), socket);
  }

  /** Stops: refuses calls, lets running ones finish within the grace period, then gives way. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    servers.forEach(SocketServer::refuse);
    registries.forEach(OperationRegistry::stop);
    try {
      boolean ended = executors.shutdown(config.gracePeriod().toMillis(), TimeUnit.MILLISECONDS);
      if (!ended) {
        LOG.warn(
            "operations still run after the grace period of {}: cancelling them",
            config.gracePeriod());
        registries.forEach(OperationRegistry::cancelAll);
        ended = executors.shutdown(CANCEL_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      }
      for (SocketServer server : servers) {
        server.awaitAnswers(ended ? 1000 : 0, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    servers.forEach(SocketServer::close);
    others.forEach(DriverProcess::closeQuietly);
    executors.close();
    probe.close();
    connections.close(CANCEL_TIMEOUT);
    clients.close();
    LOG.info("stopped");
  }

  private static void closeQuietly(AutoCloseable resource) {
    try {
      resource.close();
    } catch (Exception e) {
      LOG.warn("{} could not be closed", resource.getClass().getSimpleName(), e);
    }
  }
}
