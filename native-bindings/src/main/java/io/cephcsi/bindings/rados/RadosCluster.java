package io.cephcsi.bindings.rados;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a Ceph cluster ({@code rados_t}). Safe for several threads. Calls block until the
 * cluster answers or the operation timeout of {@link ConnectionSettings} passes; commands to a
 * manager have no timeout. Closing it waits for running calls.
 */
public final class RadosCluster extends NativeHandle {
  private static final String MGR_COMMAND = "rados_mgr_command";
  private static final String AWAIT_MAP = "rados_wait_for_latest_osdmap";

  private final RadosHandle handle;
  private final ConnectionSettings settings;
  private final Object managerLock = new Object();
  private final WaitingThreads managerThreads = new WaitingThreads("mgr-command");
  private final WaitingThreads mapThreads = new WaitingThreads("latest-osdmap");
  private @Nullable RadosHandle manager;

  private RadosCluster(RadosHandle handle, ConnectionSettings settings) {
    super("connection of " + settings, null, handle.pointer(), true);
    this.handle = handle;
    this.settings = settings;
  }

  /**
   * Connects ({@code rados_create}, {@code rados_conf_set}, {@code rados_connect}).
   *
   * @throws io.cephcsi.bindings.error.CephException.Denied if the key is wrong or the user unknown:
   *     EACCES for both, they cannot be told apart. Text that is no key at all is EINVAL, from Ceph
   *     20 on EACCES
   * @throws io.cephcsi.bindings.error.CephException.TimedOut if no monitor answers in time
   */
  public static RadosCluster connect(ConnectionSettings settings) {
    return new RadosCluster(RadosHandle.connect(settings), settings);
  }

  @Override
  protected void destroy(long pointer) {
    synchronized (managerLock) {
      if (manager != null) {
        manager.disconnect();
      }
    }
    handle.disconnect();
  }

  /** How it was connected; has no secret in its text. */
  public ConnectionSettings settings() {
    return settings;
  }

  /** The cluster's id ({@code rados_cluster_fsid}). */
  public String fsid() {
    return use(
        (cluster, arena) -> {
          long buffer = arena.allocate(64);
          int length =
              check(LibRados.rados_cluster_fsid(cluster, buffer, 64), "rados_cluster_fsid", "");
          return new String(arena.getBytes(buffer, length), StandardCharsets.US_ASCII);
        });
  }

  /** This client's id on the cluster ({@code rados_get_instance_id}), the N of client.N. */
  public long instanceId() {
    return use((cluster, arena) -> LibRados.rados_get_instance_id(cluster));
  }

  /** This client's addresses in the form that blocklisting takes ({@code rados_getaddrs}). */
  public String addresses() {
    return use(
        (cluster, arena) -> {
          long out = arena.cell(0);
          check(LibRados.rados_getaddrs(cluster, out), "rados_getaddrs", "");
          long text = arena.getLong(out);
          try {
            return NativeMemory.cString(text);
          } finally {
            RadosBuffer.free(text);
          }
        });
  }

  /** The value of a configuration option ({@code rados_conf_get}). */
  public String option(String name) {
    return use(
        (cluster, arena) -> {
          long option = arena.cString(name);
          return GrowingBuffer.read(
              1,
              256,
              "rados_conf_get",
              name,
              (buffer, size, cell) -> {
                int code = LibRados.rados_conf_get(cluster, option, buffer, size);
                return code == -Errno.ENAMETOOLONG.number() ? -Errno.ERANGE.number() : code;
              },
              (buffer, code, count) -> NativeMemory.cString(buffer));
        });
  }

  /** Space of the whole cluster ({@code rados_cluster_stat}). */
  public ClusterStat stat() {
    return use(
        (cluster, arena) -> {
          long out = arena.allocate(4 * Long.BYTES);
          check(LibRados.rados_cluster_stat(cluster, out), "rados_cluster_stat", "");
          return new ClusterStat(
              arena.getLong(out) << 10,
              arena.getLong(out + 8) << 10,
              arena.getLong(out + 16) << 10,
              arena.getLong(out + 24));
        });
  }

  /** The names of all pools ({@code rados_pool_list}). */
  public List<String> pools() {
    return use(
        (cluster, arena) -> {
          return GrowingBuffer.read(
              1,
              4096,
              "rados_pool_list",
              "",
              (buffer, size, cell) -> {
                int needed = LibRados.rados_pool_list(cluster, buffer, size);
                if (needed <= size) {
                  return needed;
                }
                NativeMemory.putLong(cell, needed + 1024); // pools may be created meanwhile
                return -Errno.ERANGE.number();
              },
              (buffer, bytes, count) -> names(NativeMemory.bytes(buffer, bytes)));
        });
  }

  private static List<String> names(byte[] zeroEnded) {
    List<String> names = new ArrayList<>();
    for (String name : new String(zeroEnded, StandardCharsets.UTF_8).split("\0", -1)) {
      if (!name.isEmpty()) {
        names.add(name);
      }
    }
    return names;
  }

  /**
   * The id of a pool ({@code rados_pool_lookup}); no round trip, unless the pool is not in this
   * client's OSD map: then the newest map is awaited first, as {@link #awaitLatestOsdMap()} does.
   *
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such pool
   */
  public long poolId(String pool) {
    requirePool(pool);
    return use(
        (cluster, arena) -> {
          long id = LibRados.rados_pool_lookup(cluster, arena.cString(pool));
          return check(id, "rados_pool_lookup", pool);
        });
  }

  /** Librados would wait for the newest map without end to look up what its own has not. */
  private void requirePool(String pool) {
    boolean noName = pool.indexOf('\0') >= 0; // refused by who encodes it
    if (!noName && !pools().contains(pool)) {
      awaitLatestOsdMap();
      if (!pools().contains(pool)) {
        throw ReturnCode.exception(-Errno.ENOENT.number(), "rados_pool_lookup", pool, "");
      }
    }
  }

  /**
   * The name of a pool ({@code rados_pool_reverse_lookup}); no round trip.
   *
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such pool
   */
  public String poolName(long id) {
    return use(
        (cluster, arena) ->
            GrowingBuffer.read(
                1,
                512,
                "rados_pool_reverse_lookup",
                Long.toString(id),
                (buffer, size, cell) ->
                    LibRados.rados_pool_reverse_lookup(cluster, id, buffer, size),
                (buffer, length, count) -> NativeMemory.string(buffer, length)));
  }

  /**
   * Waits until this client has the newest OSD map: new pools are seen after it ({@code
   * rados_wait_for_latest_osdmap}). Librados has no timeout for that, so another thread is in the
   * call. It keeps the connection open until a monitor answers.
   *
   * @throws io.cephcsi.bindings.error.CephException.TimedOut after twice the operation timeout; at
   *     once when too many threads of this connection wait already
   */
  public void awaitLatestOsdMap() {
    boolean there =
        mapThreads.call(this::awaitMap, settings.operationTimeout().multipliedBy(2)).orElse(false);
    if (!there) {
      throw ReturnCode.exception(
          -Errno.ETIMEDOUT.number(), AWAIT_MAP, "", "no monitor has answered");
    }
  }

  private boolean awaitMap() {
    call(AWAIT_MAP, "", (cluster, arena) -> LibRados.rados_wait_for_latest_osdmap(cluster));
    return true;
  }

  /** Opens a pool, in the default namespace. */
  public IoContext openPool(String pool) {
    return openPool(pool, "");
  }

  /**
   * Opens a pool ({@code rados_ioctx_create}); round trips as for {@link #poolId}.
   *
   * @param namespace the RADOS namespace; empty for the default one
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such pool
   */
  public IoContext openPool(String pool, String namespace) {
    requirePool(pool);
    return use((cluster, arena) -> IoContext.open(this, cluster, pool, namespace));
  }

  /** Opens a pool by its id; see {@link #openPool(String, String)}. */
  public IoContext openPool(long poolId, String namespace) {
    return openPool(poolName(poolId), namespace);
  }

  /**
   * Sends a command to the monitors ({@code rados_mon_command}).
   *
   * @param json the command, such as {@code {"prefix": "df", "format": "json"}}
   * @throws io.cephcsi.bindings.error.CephException with the status line that the monitor sent
   */
  public CommandReply monCommand(String json) {
    return use(
        (cluster, arena) ->
            command(LibRados::rados_mon_command, "rados_mon_command", cluster, json));
  }

  /**
   * Sends a command to the manager ({@code rados_mgr_command}). No timeout applies to it: without
   * an active manager it waits for one, and {@link #close()} waits for it. The first command makes
   * a second connection, for the manager alone; see {@link RadosHandle#connectForManager} why.
   *
   * @param json the command, such as {@code {"prefix": "rbd task list", "format": "json"}}
   */
  public CommandReply mgrCommand(String json) {
    return use(
        (cluster, arena) ->
            command(LibRados::rados_mgr_command, MGR_COMMAND, managerConnection().pointer(), json));
  }

  /**
   * As {@link #mgrCommand(String)}, on another thread, which is waited for. After a time it is
   * given up: the manager may carry it out all the same, and the thread ends with its answer.
   * Shutting the connection down would not end the command in librados.
   *
   * @param patience how long to wait
   * @throws io.cephcsi.bindings.error.CephException.TimedOut after that time; at once when too many
   *     commands of this connection have no answer
   */
  public CommandReply mgrCommand(String json, Duration patience) {
    return managerThreads
        .call(() -> mgrCommand(json), patience)
        .orElseThrow(
            () ->
                ReturnCode.exception(
                    -Errno.ETIMEDOUT.number(),
                    MGR_COMMAND,
                    prefixOf(json),
                    "the manager has not answered"));
  }

  /**
   * How many commands with a time to wait have no answer yet, those that were given up included.
   */
  public int unansweredCommands() {
    return managerThreads.busy();
  }

  /**
   * Sends a command to an OSD ({@code rados_osd_command}), as {@code ceph tell} does. It needs the
   * right to do so, such as {@code osd 'allow *'}.
   *
   * @param osd its number, from 0 on
   * @param json the command, such as {@code {"prefix": "perf dump"}}
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such OSD
   * @throws io.cephcsi.bindings.error.CephException with ENXIO if it is down
   */
  public CommandReply osdCommand(int osd, String json) {
    return use(
        (cluster, arena) ->
            command(
                (target, lines, count, in, inLength, out, outLength, status, statusLength) ->
                    LibRados.rados_osd_command(
                        target,
                        osd,
                        lines,
                        count,
                        in,
                        inLength,
                        out,
                        outLength,
                        status,
                        statusLength),
                "rados_osd_command",
                cluster,
                json));
  }

  /** Called inside a call of this connection, which keeps the other one open. */
  private RadosHandle managerConnection() {
    synchronized (managerLock) {
      if (manager == null) {
        manager = RadosHandle.connectForManager(settings);
      }
      return manager;
    }
  }

  private static CommandReply command(
      CommandFunction function, String operation, long cluster, String json) {
    try (NativeArena arena = NativeArena.open()) {
      long lines = arena.cell(arena.cString(json));
      long output = arena.cell(0);
      long outputLength = arena.cell(0);
      long status = arena.cell(0);
      long statusLength = arena.cell(0);
      int code = function.send(cluster, lines, 1, 0, 0, output, outputLength, status, statusLength);
      try {
        String said = NativeMemory.string(arena.getLong(status), arena.getLong(statusLength));
        if (code < 0) {
          // A monitor repeats a command that it cannot parse.
          String detail = said.replace(json, "the command");
          throw ReturnCode.exception(code, operation, prefixOf(json), detail);
        }
        return new CommandReply(
            NativeMemory.bytes(arena.getLong(output), arena.getLong(outputLength)), said);
      } finally {
        RadosBuffer.free(arena.getLong(output));
        RadosBuffer.free(arena.getLong(status));
      }
    }
  }

  /** The command's name only: its arguments may hold secrets. */
  private static String prefixOf(String json) {
    int key = json.indexOf("\"prefix\"");
    int from = key < 0 ? -1 : json.indexOf('"', json.indexOf(':', key) + 1);
    int to = from < 0 ? -1 : json.indexOf('"', from + 1);
    return to < 0 ? "" : json.substring(from + 1, to);
  }

  /**
   * Blocklists a client: its operations fail with ESHUTDOWN from now on ({@code
   * rados_blocklist_add}). Waits for the map that says so: on no object on which this client
   * operates afterwards can the other one still do anything.
   *
   * @param address an address as {@link #addresses()} or a watcher shows it
   * @param expires after how long it is lifted
   */
  public void blocklist(String address, Duration expires) {
    call(
        "rados_blocklist_add",
        address,
        (cluster, arena) ->
            LibRados.rados_blocklist_add(
                cluster, arena.cString(address), Math.toIntExact(expires.toSeconds())));
  }

  /** {@code rados_mon_command} and its twins. */
  private interface CommandFunction {
    int send(
        long cluster,
        long command,
        long commandLength,
        long input,
        long inputLength,
        long output,
        long outputLength,
        long status,
        long statusLength);
  }
}
