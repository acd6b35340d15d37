# shellcheck shell=bash
# How container images are built, by docker or by podman, and where their base comes from. Sourced, never run, after lib.sh and
# lib-debian.sh, whose debian_keyring is used.
# shellcheck disable=SC2154

# require_podman: podman, and what it needs to run a container.
require_podman() {
  local missing=() program
  for program in podman runc debootstrap; do have "$program" || missing+=("$program"); done
  ((${#missing[@]} == 0)) || die "docker does not run, and there is no ${missing[*]}: run 'ci/install containers'"
}

# limit_podman FOLDER: podman asks for limits above those of this shell, which is not allowed everywhere, and for crun, which refuses
# hosts that have both kinds of cgroups. What it asks for instead is in a file in FOLDER. A CONTAINERS_CONF that is set is kept.
limit_podman() {
  [[ -z ${CONTAINERS_CONF:-} ]] || return 0
  local files processes
  files=$(ulimit -Hn) processes=$(ulimit -Hu)
  [[ $files != unlimited ]] || files=1048576
  # More it does not take when it builds.
  [[ $processes != unlimited ]] && ((processes <= 32768)) || processes=32768
  cat >"$1/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=$processes:$processes"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
CONF
  export CONTAINERS_CONF=$1/containers.conf
}

# choose_engine FOLDER: $engine is docker where it runs, else podman, with limits that it may set.
choose_engine() {
  if docker_runs; then
    engine=docker
  else
    engine=podman
    require_podman
    [[ $EUID -eq 0 ]] || die "podman needs root here: it uses the host's network"
    limit_podman "$1"
  fi
}

# run_controller OPTION... IMAGE ARGUMENT...: the driver in the background, restricted as the chart restricts the controller; prints the
# id of its container. JNA runs a library from /tmp.
readonly CONTROLLER_USER=65532:65532
run_controller() {
  "$engine" run -d --net host --user "$CONTROLLER_USER" --read-only --tmpfs /tmp:exec --cap-drop ALL --security-opt no-new-privileges "$@"
}

# base_image SUITE: Debian's minimal system as docker.io/library/debian:SUITE-slim, made by debootstrap unless podman has it. Like the
# image of that name it neither has nor takes documentation, and keeps no packages. The same packages make the same image, with
# the date of their list; so its parts have no other date, and nothing of this host is in it.
base_image() {
  local suite=$1 image=docker.io/library/debian:$1-slim made tree mirror date
  podman image exists "$image" && return
  (
    umask 022
    made=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf --one-file-system '$made'" EXIT
    tree=$made/tree mirror=$(debian_mirror)
    note "making debian:$suite-slim from $mirror"
    bare_debian "$suite" "$mirror" "$tree" "$made/log"
    date=$(sed -n 's/^Date: //p' "$tree"/var/lib/apt/lists/*_dists_"${suite}"_*Release | head -n 1)
    date=$(date -d "$date" +%s)
    slim_tree "$tree" "$suite" "$mirror" "$date"
    tar --sort=name --mtime="@$date" --numeric-owner --format=gnu -C "$tree" -cf "$made/layer.tar" .
    image_of_layer "$image" "$date" "$made/layer.tar" "$made/image.tar" "$(dpkg --print-architecture)"
    podman load --quiet -i "$made/image.tar" >/dev/null
  )
}

# slim_tree TREE SUITE MIRROR DATE: what the image does not keep, and what of it would differ each time.
slim_tree() {
  local tree=$1 suite=$2 security
  printf 'path-exclude /usr/share/%s/*\n' doc man locale info >"$tree/etc/dpkg/dpkg.cfg.d/slim"
  echo 'path-include /usr/share/doc/*/copyright' >>"$tree/etc/dpkg/dpkg.cfg.d/slim"
  echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "false"; DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb";};' \
    >"$tree/etc/apt/apt.conf.d/slim"
  # A mirror that is frozen keeps lists that say they have expired.
  echo "deb [check-valid-until=no signed-by=$debian_keyring] $3 $suite main" >"$tree/etc/apt/sources.list"
  security=$(debian_security_mirror)
  if [[ -n $security && $suite == "$(. /etc/os-release && echo "$VERSION_CODENAME")" ]]; then
    echo "deb [check-valid-until=no signed-by=$debian_keyring] $security $suite-security main" >>"$tree/etc/apt/sources.list"
  fi
  mkdir -p "$tree$(dirname "$debian_keyring")"
  cp "$debian_keyring" "$tree$debian_keyring"
  find "$tree/usr/share/doc" \( -type f -o -type l \) ! -name copyright -delete
  find "$tree/usr/share/doc" -type d -empty -delete
  rm -rf "$tree"/usr/share/{man,locale,info}/* "$tree"/var/{cache/apt,cache/ldconfig,lib/apt/lists,log}/* "$tree"/tmp/* "$tree"/var/lib/dpkg/*-old \
    "$tree"/var/cache/debconf/*-old "$tree"/etc/{passwd,group,shadow,gshadow}- "$tree"/etc/resolv.conf "$tree"/etc/hostname "$tree"/root/.[a-z]*_history
  : >"$tree/etc/machine-id"
  # The day on which a password was changed, of users that have none.
  sed -i -E "s/^([^:]*:[^:]*):[0-9]+:/\1:$(($4 / 86400)):/" "$tree/etc/shadow"
}

# image_of_layer NAME DATE LAYER FILE ARCHITECTURE: an archive, as docker saves them, of an image of one layer.
image_of_layer() {
  python3 - "$@" <<'PYTHON'
import datetime, hashlib, io, json, sys, tarfile
name, date, layer, file, architecture = sys.argv[1:]
digest = hashlib.sha256()
with open(layer, "rb") as data:
    while chunk := data.read(1 << 20):
        digest.update(chunk)
created = datetime.datetime.fromtimestamp(int(date), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
config = json.dumps({
    "architecture": architecture, "os": "linux", "created": created,
    "config": {"Cmd": ["bash"], "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest.hexdigest()]},
    "history": [{"created": created, "created_by": "debootstrap --variant=minbase"}]}, sort_keys=True).encode()
with tarfile.open(file, "w") as archive:
    def add(path, data):
        entry = tarfile.TarInfo(path)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    add("config.json", config)
    archive.add(layer, "layer.tar")
    add("manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
PYTHON
}

# source_date: the date of what is built: SOURCE_DATE_EPOCH, else that of the last commit, or now where git does not know.
source_date() {
  [[ -z ${SOURCE_DATE_EPOCH:-} ]] || { echo "$SOURCE_DATE_EPOCH"; return; }
  git -C "$(dirname "${BASH_SOURCE[0]}")" log -1 --format=%ct 2>/dev/null || date +%s
}

# build_image IMAGE SUITE DATE FILE FOLDER OPTION...: by podman everything that the build writes has that date (seconds since 1970),
# so that the same build makes the same layers. Without cgroups, limits and network of its own it runs also where containers do
# not. Docker's layers have the time at which they were made.
build_image() {
  local image=$1 suite=$2 date=$3 file=$4 folder=$5
  shift 5
  if [[ -z ${debootstrap:-} ]] && docker_runs; then
    docker build -t "$image" --build-arg "SUITE=$suite" -f "$file" "$@" "$folder"
  else
    podman build --isolation=chroot --network=host --timestamp "$date" -t "$image" --build-arg "SUITE=$suite" -f "$file" "$@" "$folder"
  fi
}
