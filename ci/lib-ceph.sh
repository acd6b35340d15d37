# shellcheck shell=bash
# How a one-node Ceph cluster is made, started and ended. Sourced by ci/ceph.
# A cluster is the folder $dir: ceph.conf, env, ready, keyrings, data/TYPE.ID, run/ (pids, sockets), log/.
# Descriptor 8 holds the cluster's lock, descriptor 9 the machine's port lock.

shopt -s extglob nullglob

select_root() {
  root=${CEPH_CI_DIR:-/tmp/ceph-csi-java-$EUID}
  [[ $root =~ ^/[A-Za-z0-9._/-]+$ ]] || die "CEPH_CI_DIR must be an absolute path of plain characters, not '$root'"
  (umask 077 && mkdir -p "$root") || die "cannot make the folder $root: set CEPH_CI_DIR to one you can write to"
  [[ -O $root ]] || die "$root belongs to another user: set CEPH_CI_DIR to a folder of yours"
}

select_cluster() {
  name=$1 dir=$root/$1
  [[ $name =~ ^[a-z0-9][a-z0-9._-]*$ ]] || usage_error "a cluster's name has small letters, digits, '.', '_', '-': not '$name'"
  local socket=$dir/run/mon.a.asok
  ((${#socket} <= 107)) || die "the path $socket is longer than a socket may have (107): set CEPH_CI_DIR to a shorter folder"
}

with_cluster_lock() {
  lock_file 8 "$root/.$name.lock" 300
  # At the end nothing of ours goes on but the daemons, which are disowned.
  # shellcheck disable=SC2154
  trap 'kill $(jobs -p) 2>/dev/null || true; rm -f "$root/.$name.lock"' EXIT
}

# ---- daemons -------------------------------------------------------------------------------------------------------

# daemons [PATTERN]: the names (TYPE.ID) of this cluster's daemons, by extended glob.
daemons() {
  local path
  for path in "$dir"/data/${1:-*}; do
    [[ ! -d $path ]] || echo "${path##*/}"
  done
}

# A recorded pid counts only while that process was started with this cluster's ceph.conf.
daemon_pid() {
  local pid
  pid=$(cat "$dir/run/$1.pid" 2>/dev/null) || return 1
  grep -qzxF "$dir/ceph.conf" "/proc/$pid/cmdline" 2>/dev/null || return 1
  echo "$pid"
}

daemon_state() {
  local pid
  pid=$(daemon_pid "$1") || { echo gone; return; }
  if grep -q '^State:[[:space:]]*[Tt]' "/proc/$pid/status" 2>/dev/null; then echo paused; else echo running; fi
}

# signal_daemons SIGNAL [PATTERN]
signal_daemons() {
  local pid n
  for n in $(daemons "${2:-*}"); do
    if pid=$(daemon_pid "$n"); then kill -s "$1" "$pid" 2>/dev/null || true; fi
  done
}

# detached COMMAND...: in a session of its own and with none of our descriptors, so that it outlives the terminal,
# and a caller who reads our output does not wait for it. Stays in the foreground of that session: a mgr of Ceph 16
# that daemonises itself cannot answer some commands.
detached() {
  local fd
  for fd in /proc/"$BASHPID"/fd/*; do
    fd=${fd##*/}
    ((fd <= 2)) || eval "exec $fd>&-"
  done
  unset PYTHONHOME PYTHONPATH VIRTUAL_ENV CEPH_ARGS CEPH_CONF LD_PRELOAD
  cd /
  exec setsid "$@"
}

# daemon_command NAME: the words that run it. Its fsync calls do nothing, unless --sync: waiting for the disk makes a
# small write 4 to 6 times slower, and protects only against a crash of the machine.
daemon_command() {
  local program=ceph-${1%%.*}
  # It makes further connections by the default file, which this names.
  [[ $1 != rbd-mirror.* ]] || program="CEPH_CONF=$dir/ceph.conf rbd-mirror"
  if [[ ! -e $dir/sync ]] && [[ -z $(LD_PRELOAD=libeatmydata.so true 2>&1) ]]; then
    echo "env -u CEPH_ARGS LD_PRELOAD=libeatmydata.so $program"
  else
    echo "env -u CEPH_ARGS $program"
  fi
}

launch() {
  local n=$1 id=(-i "${1#*.}")
  [[ $n != rbd-mirror.* ]] || id=(-n "client.$n") # a client of the cluster
  # shellcheck disable=SC2046
  detached $(daemon_command "$n") -f "${id[@]}" -c "$dir/ceph.conf" </dev/null >>"$dir/log/$n.out" 2>&1 &
  local pid=$! tries
  echo "$pid" >"$dir/run/$n.pid"
  disown "$pid"
  # Until the new process is the daemon, its command line is still ours and would not count.
  for ((tries = 0; tries < 500; tries++)); do
    if [[ ! -d /proc/$pid ]] || daemon_pid "$n" >/dev/null; then break; fi
    sleep 0.01
  done
}

# end_daemons SECONDS PATTERN: ask, wait, then kill.
end_daemons() {
  local deadline=$((SECONDS + $1)) n
  signal_daemons TERM "$2"
  signal_daemons CONT "$2"
  for n in $(daemons "$2"); do
    while daemon_pid "$n" >/dev/null; do
      ((SECONDS < deadline)) || { note "$n does not end by itself; killing it"; kill_daemons "$2"; return; }
      sleep 0.05
    done
  done
}

# kill_daemons [PATTERN]
kill_daemons() {
  local n
  signal_daemons KILL "${1:-*}"
  for n in $(daemons "${1:-*}"); do
    while daemon_pid "$n" >/dev/null; do sleep 0.02; done
  done
}

# The monitor goes last: an OSD tells it that it leaves.
stop_cluster() {
  end_daemons 30 '!(mon.a)'
  end_daemons 10 mon.a
}

# CEPH_CI_KEEP_LOGS names a folder that the logs go to: a test that failed is explained there.
remove_cluster() {
  kill_daemons
  if [[ -n ${CEPH_CI_KEEP_LOGS:-} && -d $dir/log ]]; then
    mkdir -p "$CEPH_CI_KEEP_LOGS"
    cp -r "$dir/log" "$CEPH_CI_KEEP_LOGS/$name"
  fi
  rm -rf "$dir"
}

# watch_owner PID: a small process that takes the cluster down after PID has ended, unless it is gone.
watch_owner() {
  # shellcheck disable=SC2016
  detached bash -c 'tail --pid="$1" -f /dev/null; [[ ! -d $4 ]] || exec "$2" down "$3"' watch "$1" "$(readlink -f "$0")" \
    "$name" "$dir" </dev/null >/dev/null 2>&1 &
  disown $!
}

# ---- asking the cluster ----------------------------------------------------------------------------------------------

admin_ceph() { env -u CEPH_ARGS -u PYTHONPATH -u PYTHONHOME ceph -c "$dir/ceph.conf" "$@"; }

# As admin_ceph, for commands that wait for a daemon that may have ended. They do not keep the cluster's lock (8) when we die.
ask_ceph() { timeout 20 env -u CEPH_ARGS -u PYTHONPATH -u PYTHONHOME ceph -c "$dir/ceph.conf" "$@" 8<&-; }

# Runs one command for each line of the input over one connection: starting "ceph" costs more than most commands.
admin_batch() {
  local errors
  errors=$(timeout 60 env -u CEPH_ARGS ceph -c "$dir/ceph.conf" 2>&1 >/dev/null) || true
  if grep -qE '^(Error|Invalid|error)|Traceback' <<<"$errors"; then give_up "the cluster refused a command: $errors"; fi
}

# until_true SECONDS WHAT COMMAND...: repeat COMMAND until it works. COMMAND ends by itself, whatever the daemons do.
until_true() {
  local deadline=$((SECONDS + $1)) what=$2 n
  shift 2
  until "$@" >/dev/null 2>>"$dir/log/wait.out"; do
    for n in $(daemons); do
      if [[ -e $dir/run/$n.pid ]] && ! daemon_pid "$n" >/dev/null; then revive "$n"; fi
    done
    ((SECONDS < deadline)) || give_up "$what did not happen: $(tail -n 2 "$dir/log/wait.out")"
    sleep 0.1
  done
}

# The MDS of Ceph 16 now and then aborts at the first mkdir in a new file system (follows >= realm->get_newest_seq());
# started again, it goes on. That any other daemon ends, or the MDS once more, is an error.
revive() {
  if [[ $1 != mds.* || -n ${revived:-} ]]; then give_up "$1 ended: $(tail -n 5 "$dir/log/$1.out")"; fi
  revived=yes
  note "$1 ended while the cluster started; starting it again"
  launch "$1"
}

give_up() {
  note "$1"
  kill_daemons
  die "cluster '$name' did not start. Its logs are in $dir/log; 'ci/ceph down $name' removes it, 'ci/ceph up $name' tries again"
}

# ---- settings ----------------------------------------------------------------------------------------------------------

# Options given for a cluster that exists must agree with it: a silent difference would spoil a measurement.
check_same_settings() {
  local made wanted
  made=$(grep '^# made with:' "$dir/ceph.conf")
  for wanted in ${objectstore:+objectstore=$objectstore} ${osds:+osds=$osds} ${address:+address=$address} \
    ${slow_maps:+slow-maps=yes} ${sync:+sync=yes}; do
    [[ "$made " == *" $wanted "* ]] ||
      die "cluster '$name' was ${made#\# }, not $wanted: 'ci/ceph down $name' first, or use another name"
  done
}

# bluestore opens its file with O_DIRECT, which some file systems refuse.
has_direct_io() {
  local probe=$dir/data/probe ok=0
  dd if=/dev/zero of="$probe" bs=4096 count=1 oflag=direct 2>/dev/null || ok=1
  rm -f "$probe"
  return $ok
}

choose_objectstore() {
  if [[ $objectstore == bluestore ]]; then
    has_direct_io || die "$dir has no direct I/O, which bluestore needs: use --objectstore memstore or set CEPH_CI_DIR"
  elif [[ -z $objectstore ]]; then
    objectstore=bluestore
    has_direct_io || { objectstore=memstore; note "$dir has no direct I/O: using memstore"; }
  fi
}

# Two ports that can be bound now, below 32768, where the kernel starts to hand out ports by itself.
free_ports() {
  python3 - "$address" <<'PYTHON' || die "cannot listen on $address: choose another --address"
import random, socket, sys
held = []
for attempt in range(200):
    s = socket.socket()
    try:
        s.bind((sys.argv[1], random.randrange(10000, 32768)))
        held.append(s)
    except OSError:
        continue
    if len(held) == 2:
        print(*(s.getsockname()[1] for s in held))
        sys.exit()
sys.exit("no free port found")
PYTHON
}

# An OSD without a peer that was frozen for longer than its lease of 16 s sometimes leaves operations waiting for ever: only a
# peer's answer would wake them. With several OSDs a long lease is a long wait when one is lost.
single_osd() { echo 'osd pool default read lease ratio = 10'; }

write_conf() {
  local mon_host=$1
  cat >"$dir/ceph.conf" <<CONF
# made with: objectstore=$objectstore osds=$osds address=$address slow-maps=${slow_maps:-no} sync=${sync:-no}
[global]
fsid = $fsid
mon host = $mon_host
mon initial members = a
public addr = $address
cluster addr = $address
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
$( ((osds > 1)) || single_osd)
osd crush chooseleaf type = 0
run dir = $dir/run
crash dir = $dir/log
max open files = 65536

[client]
keyring = $dir/\$name.keyring

[client.rbd-mirror.a]
keyring = $dir/data/rbd-mirror.a/keyring
admin socket = $dir/run/rbd-mirror.a.asok
log file = $dir/log/rbd-mirror.a.log
debug rbd mirror = 0/5
# Peers and pools are looked for so often, and an image that failed is tried again after so long; 30 s by default.
rbd mirror pool replayers refresh interval = 2
rbd mirror image state check interval = 5

[mon]
mon data = $dir/data/\$type.\$id
mon allow pool delete = true
mon allow pool size one = true
mon max pg per osd = 1000
mon warn on pool no redundancy = false
mon data avail warn = 1
mon data avail crit = 0
mon mgr beacon grace = 120
mds beacon grace = 120
mon cluster log file = /dev/null
mgr initial modules =
$([[ -n $slow_maps ]] || printf 'paxos propose interval = 0.05\npaxos min wait = 0.02\n')

[mgr]
mgr data = $dir/data/\$type.\$id
mgr disabled modules = alerts cephadm dashboard diskprediction_local influx insights iostat k8sevents localpool mds_autoscaler mirroring nfs osd_perf_query osd_support prometheus restful rook selftest snap_schedule stats telegraf test_orchestrator zabbix

[osd]
osd data = $dir/data/\$type.\$id
osd objectstore = $objectstore
osd memory target = 939524096
osd op num shards = 2
osd scrub min interval = 31536000
osd scrub max interval = 31536000
osd deep scrub interval = 31536000
# Unmount at the end: memstore saves its objects only then.
osd fast shutdown = false
bluestore block size = $(numfmt --from=iec "${CEPH_CI_OSD_SIZE:-20G}")
memstore device bytes = $(numfmt --from=iec "${CEPH_CI_OSD_SIZE:-20G}")

[mds]
mds data = $dir/data/\$type.\$id
mds cache memory limit = 268435456
# After a stop, the mgr's own session is gone for good; the default waits 45 s for it.
mds reconnect timeout = 3
mds beacon grace = 120
# What waits for the MDS's journal waits for its next tick, every 5 s by default.
$([[ -n $slow_maps ]] || printf 'mds tick interval = 0.5\n')
CONF
  local section
  for section in mon mgr osd mds; do
    cat <<CONF

[$section]
keyring = $dir/data/\$type.\$id/keyring
admin socket = $dir/run/\$type.\$id.asok
log file = $dir/log/\$type.\$id.log
debug rocksdb = 1/5
debug $section = 0/5
CONF
  done >>"$dir/ceph.conf"
}

write_env() {
  cat >"$dir/env" <<ENV
export CEPH_CONF='$dir/ceph.conf'
export CEPH_ARGS=''
export CEPH_MON_HOST='$1'
export CEPH_FSID='$fsid'
export CEPH_ADMIN_KEYRING='$dir/client.admin.keyring'
export CEPH_RBD_KEYRING='$dir/client.csi-rbd-provisioner.keyring'
export CEPH_CEPHFS_KEYRING='$dir/client.csi-cephfs-provisioner.keyring'
export CEPH_CI_CLUSTER='$name'
export CEPH_CI_CLUSTER_DIR='$dir'
ENV
}

# ---- making a cluster ----------------------------------------------------------------------------------------------------

# make_key ENTITY FILE [TYPE CAPABILITY]...: a new key in FILE, also known to the monitor from its first start.
make_key() {
  local entity=$1 file=$2 caps=()
  shift 2
  while (($# > 0)); do caps+=(--cap "$1" "$2"); shift 2; done
  ceph-authtool --create-keyring "$file" --gen-key -n "$entity" "${caps[@]}" >/dev/null
  cat "$file" >>"$dir/mon.keyring"
}

make_keys() {
  local i data=$dir/data
  make_key mon. "$dir/mon.only.keyring" mon 'allow *'
  rm "$dir/mon.only.keyring"
  make_key mgr.x "$data/mgr.x/keyring" mon 'allow profile mgr' osd 'allow *' mds 'allow *'
  make_key mds.a "$data/mds.a/keyring" mon 'allow profile mds' osd 'allow rwx' mds 'allow *' mgr 'allow profile mds'
  for ((i = 0; i < osds; i++)); do
    make_key "osd.$i" "$data/osd.$i/keyring" mon 'allow profile osd' mgr 'allow profile osd' osd 'allow *'
  done
  make_key client.admin "$dir/client.admin.keyring" mon 'allow *' osd 'allow *' mds 'allow *' mgr 'allow *'
  # The capabilities that ceph-csi documents for its users, and no more.
  make_key client.csi-rbd-provisioner "$dir/client.csi-rbd-provisioner.keyring" \
    mon 'profile rbd' osd 'profile rbd' mgr 'profile rbd'
  make_key client.csi-cephfs-provisioner "$dir/client.csi-cephfs-provisioner.keyring" \
    mon 'allow r fsname=cephfs' mgr 'allow rw' \
    osd 'allow rw tag cephfs metadata=cephfs, allow rw tag cephfs data=cephfs' \
    mds 'allow r fsname=cephfs path=/volumes, allow rws fsname=cephfs path=/volumes/csi'
}

# mkfs DAEMON OPTION...: make the store of a monitor or an OSD.
mkfs() {
  local n=$1
  shift
  # shellcheck disable=SC2046
  $(daemon_command "$n") -i "${n#*.}" -c "$dir/ceph.conf" -f --mkfs "$@" </dev/null >>"$dir/log/$n.out" 2>&1
}

create_cluster() {
  local tool i begun=$EPOCHREALTIME
  for tool in ceph ceph-mon ceph-mgr ceph-osd ceph-mds rbd; do
    have "$tool" || die "$tool is not installed: run 'ci/install ceph'"
  done
  osds=${osds:-1} address=${address:-127.0.0.1}
  umask 077
  mkdir -p "$dir"/{run,log,data/{mon.a,mgr.x,mds.a}}
  choose_objectstore
  [[ -z $sync ]] || touch "$dir/sync"
  trap 'give_up "interrupted"' INT TERM HUP
  local fsid uuids=() v2 v1
  fsid=$(cat /proc/sys/kernel/random/uuid)
  for ((i = 0; i < osds; i++)); do
    mkdir -p "$dir/data/osd.$i"
    uuids+=("$(cat /proc/sys/kernel/random/uuid)")
  done
  make_keys

  # Held until the monitor listens, so that no other cluster picks the same ports.
  lock_file 9 /tmp/ceph-csi-java.ports.lock 120
  local ports
  ports=$(free_ports)
  v2=${ports% *} v1=${ports#* }
  local mon_host="[v2:$address:$v2/0,v1:$address:$v1/0]"
  write_conf "$mon_host"
  write_env "$mon_host"

  local making=()
  for ((i = 0; i < osds; i++)); do
    mkfs "osd.$i" --osd-uuid "${uuids[i]}" --no-mon-config &
    making+=($!)
  done
  monmaptool -c "$dir/ceph.conf" --create --fsid "$fsid" --addv a "$mon_host" "$dir/monmap" >/dev/null
  mkfs mon.a --monmap "$dir/monmap" --keyring "$dir/mon.keyring" ||
    give_up "the monitor's store was not made: $(tail -n 5 "$dir/log/mon.a.out")"
  rm "$dir/monmap" "$dir/mon.keyring"
  launch mon.a
  until_true 20 "listening of the monitor" eval "exec 3<>/dev/tcp/$address/$v1"
  exec 9<&-

  { first_commands; for ((i = 0; i < osds; i++)); do echo "osd new ${uuids[i]} $i"; done; } | admin_batch
  launch mgr.x
  launch mds.a
  for ((i = 0; i < osds; i++)); do
    wait "${making[i]}" || give_up "the store of osd.$i was not made: $(tail -n 5 "$dir/log/osd.$i.out")"
    launch "osd.$i"
  done
  pool_commands | admin_batch
  wait_until_usable
  touch "$dir/ready"
  note "cluster '$name' ($objectstore) runs after $(elapsed "$begun") s in $dir; next: eval \"\$(ci/ceph env $name)\""
}

# Before the mgr starts: what it need not do.
first_commands() {
  cat <<'COMMANDS'
config set mgr mgr/devicehealth/enable_monitoring false --force
config set mgr mgr/balancer/active false --force
config set mgr mgr/progress/enabled false --force
COMMANDS
}

pool_commands() {
  local pool
  for pool in rbd rbd2 rbd-data cephfs.metadata cephfs.data; do
    echo "osd pool create $pool 8"
  done
  for pool in rbd rbd2 rbd-data; do
    echo "osd pool application enable $pool rbd"
  done
  echo "fs new cephfs cephfs.metadata cephfs.data"
  # What a client that was killed has looked at cannot be changed for so long; 30 s is the least, 60 the default.
  [[ -n $slow_maps ]] || echo "fs set cephfs session_timeout 30"
}

# ---- mirroring -------------------------------------------------------------------------------------------------------

# make_mirror: this cluster's daemon and what its pool needs; nothing to do when they are there.
make_mirror() {
  local data=$dir/data/rbd-mirror.a
  have rbd-mirror || die "rbd-mirror is not installed: run 'ci/install ceph'"
  [[ ! -d $data ]] || return 0
  rbd -c "$dir/ceph.conf" mirror pool enable --site-name "$name" rbd image
  umask 077
  mkdir -p "$data.new"
  admin_ceph auth get-or-create client.rbd-mirror.a mon 'profile rbd-mirror' osd 'profile rbd' mgr 'profile rbd' \
    -o "$data.new/keyring"
  mv "$data.new" "$data"
}

# join_mirror OTHER TOKEN: makes the cluster OTHER, whose token it is, a peer, and this one a peer of that.
join_mirror() {
  local token=$dir/mirror.token
  ! rbd -c "$dir/ceph.conf" mirror pool info rbd --format json | grep -qF "\"site_name\":\"$1\"" || return 0
  (umask 077 && printf '%s' "$2" >"$token")
  rbd -c "$dir/ceph.conf" mirror pool peer bootstrap import --site-name "$name" --direction rx-tx rbd "$token"
  rm "$token"
}

launch_mirror() { [[ $(daemon_state rbd-mirror.a) != gone ]] || launch rbd-mirror.a; }

start_cluster() {
  local begun=$EPOCHREALTIME n
  trap 'give_up "interrupted"' INT TERM HUP
  for n in $(daemons); do launch "$n"; done
  wait_until_usable
  note "cluster '$name' runs again after $(elapsed "$begun") s in $dir"
}

# Usable means that what the driver asks of a cluster answers: two mgr modules, the file system, RBD pools.
# The pools come last: a client that writes before the OSD is up looks again only after 5 s.
wait_until_usable() {
  local pool
  until_true 120 "the start of the mgr module volumes" ask_ceph fs subvolumegroup create cephfs csi
  until_true 60 "listing subvolumes" ask_ceph fs subvolume ls cephfs csi
  until_true 60 "the start of the mgr module rbd_support" ask_ceph rbd task list
  for pool in rbd rbd2 rbd-data; do
    until_true 60 "rbd pool init $pool" init_pool "$pool"
  done
}

init_pool() { timeout 60 rbd -c "$dir/ceph.conf" pool init "$1" 8<&-; }

elapsed() {
  local us=$((${EPOCHREALTIME/./} - ${1/./}))
  printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}
