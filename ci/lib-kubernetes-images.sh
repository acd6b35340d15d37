# shellcheck shell=bash
# The images of pods, for a containerd that has no registry: busybox, one for each program of a sidecar, under the name that the
# chart gives it, and the driver's. They are made once and kept in $cache, with what containerd makes of them. Sourced by
# ci/kubernetes, which sets $bin, $dir, $here and $root.
# shellcheck disable=SC2154

readonly DRIVER_IMAGE=localhost/ceph-csi-java:test BUSYBOX_IMAGE=docker.io/local/busybox:1

# image NAME FILE PROGRAM: an archive of an image that has one program, linked statically, as its entry point. That of busybox has
# its applets, and sleeps without a command, as the containers of pods' sandboxes do.
image() {
  python3 - "$@" <<'PYTHON'
import hashlib, io, json, os, subprocess, sys, tarfile
name, file, program = sys.argv[1:]
base = os.path.basename(program)
busybox = base == "busybox"
def add(archive, path, data=b"", **fields):
    entry = tarfile.TarInfo(path)
    entry.size = len(data)
    for key, value in fields.items():
        setattr(entry, key, value)
    archive.addfile(entry, io.BytesIO(data))
layer = io.BytesIO()
with tarfile.open(fileobj=layer, mode="w") as root:
    for folder, mode in (("bin", 0o755), ("etc", 0o755), ("dev", 0o755), ("proc", 0o755), ("sys", 0o755), ("tmp", 0o1777)):
        add(root, folder, type=tarfile.DIRTYPE, mode=mode)
    add(root, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\n", mode=0o644)
    add(root, "bin/" + base, open(program, "rb").read(), mode=0o755)
    if busybox:
        for applet in subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if applet != "busybox":
                add(root, "bin/" + applet, type=tarfile.SYMTYPE, linkname="busybox", mode=0o777)
layer = layer.getvalue()
digest = hashlib.sha256(layer).hexdigest()
config = {"Env": ["PATH=/bin"]}
config.update({"Cmd": ["/bin/sleep", "2147483647"]} if busybox else {"Entrypoint": ["/bin/" + base]})
config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]},
                     "config": config}).encode()
with tarfile.open(file, "w") as archive:
    add(archive, "config.json", config)
    add(archive, "layer.tar", layer)
    add(archive, "manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
PYTHON
}

# sidecar_images: "IMAGE PROGRAM" of all sidecars in the chart's values whose program is in $bin.
sidecar_images() {
  local repository tag program
  awk '$1 == "repository:" { name = $2 } $1 == "tag:" { print name, $2 }' "$root/driver/deploy/charts/ceph-csi-java/values.yaml" |
    sort -u | while read -r repository tag; do
    program=$(program_of "$repository")
    [[ ! -x $bin/$program ]] || echo "$repository:$tag $bin/$program"
  done
}

# program_of IMAGE: the program that an image has, as it is called in $bin.
program_of() {
  local name=${1##*/}
  name=${name%%:*}
  case $name in k8s-sidecar) echo csi-addons-sidecar ;; *) echo "$name" ;; esac
}

# driver_image: builds the driver's image from $dir/ceph-csi unless the last one is of the same; prints its id.
driver_image() {
  local sum old
  sum=$(cd "$dir/ceph-csi" && find . -type f ! -name '*.jsa' -print0 | sort -z | xargs -0 sha256sum | cat - "$here/image/Dockerfile" | sha256sum)
  if [[ $(cat "$cache/driver-image" 2>/dev/null) != "$sum" ]] || ! podman image exists "$DRIVER_IMAGE"; then
    note "building the driver's image"
    rm -f "$cache/driver-image"
    old=$(podman image inspect --format '{{.Id}}' "$DRIVER_IMAGE" 2>/dev/null) || old=''
    mkdir "$dir/context"
    cp -a "$dir/ceph-csi" "$dir/context/"
    "$here/image/build" --debootstrap "$DRIVER_IMAGE" "$dir/context" >"$dir/log/image.log" 2>&1 ||
      die "the driver's image was not built: $(tail -n 5 "$dir/log/image.log")"
    rm -rf "$dir/context"
    # Only this one: other images without a name are steps of the build, which the next build uses.
    [[ -z $old || $old == "$(podman image inspect --format '{{.Id}}' "$DRIVER_IMAGE")" ]] || podman rmi "$old" >/dev/null 2>&1 || true
    echo "$sum" >"$cache/driver-image"
  fi
  podman image inspect --format '{{.Id}}' "$DRIVER_IMAGE"
}

# containerd_folder: $dir/containerd/root with all images. What containerd unpacked for an earlier run is linked, not copied: nothing
# writes to the layers of an image.
containerd_folder() {
  local id='' key folder name program
  mkdir -p "$cache"
  lock_file 6 "$cache/lock" 1800
  [[ -n $on_host ]] || id=$(driver_image)
  key=$({
    echo "$id"
    sha256sum <"$here/lib-kubernetes-images.sh"
    sidecar_images | while read -r name program; do echo "$name $(stat -c '%s %Y' "$program")"; done
  } | sha256sum | cut -c1-16)
  folder=$cache/containerd-$key
  if [[ ! -d $folder ]]; then
    note "giving the images to containerd"
    make_containerd_folder "$folder.new"
    mv "$folder.new" "$folder"
  fi
  touch "$folder"
  # shellcheck disable=SC2012
  ls -dt "$cache"/containerd-* | tail -n +4 | xargs -r -d '\n' rm -rf --
  mkdir -p "$dir/containerd"
  cp -al "$folder" "$dir/containerd/root" 2>/dev/null || { rm -rf "$dir/containerd/root" && cp -a "$folder" "$dir/containerd/root"; }
  # Its databases change.
  find "$dir/containerd/root" -name '*.db' -exec cp -a {} {}.own \; -exec mv {}.own {} \;
  exec 6<&-
}

make_containerd_folder() {
  local work=$dir/images name program pid tries
  rm -rf "$1"
  mkdir -p "$work"
  printf 'version = 2\nroot = "%s"\nstate = "%s"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' "$1" "$work/state" >"$work/containerd.toml"
  printf '[grpc]\n  address = "%s"\n[ttrpc]\n  address = "%s"\n' "$work/containerd.sock" "$work/ttrpc" >>"$work/containerd.toml"
  "$bin/containerd" --config "$work/containerd.toml" >"$dir/log/images.log" 2>&1 </dev/null 6<&- &
  pid=$!
  for ((tries = 0; tries < 300; tries++)); do
    if "$bin/ctr" -a "$work/containerd.sock" version >/dev/null 2>&1 || [[ ! -d /proc/$pid ]]; then break; fi
    sleep 0.1
  done
  { echo "$BUSYBOX_IMAGE $(command -v busybox)" && sidecar_images; } | while read -r name program; do
    image "$name" "$work/image.tar" "$program"
    import_image "$work/image.tar"
  done
  if [[ -z $on_host ]]; then
    podman save --quiet -o "$work/driver.tar" "$DRIVER_IMAGE"
    import_image "$work/driver.tar"
  fi
  kill "$pid"
  wait "$pid" || true
  rm -rf "$work"
}

import_image() {
  "$bin/ctr" -a "$dir/images/containerd.sock" -n k8s.io images import "$1" >>"$dir/log/images.log" 2>&1 ||
    die "containerd does not take an image: $(tail -n 3 "$dir/log/images.log")"
}

# load_images: the driver's image and busybox, into a cluster that is not ours.
load_images() {
  local context load archive=$dir/image.tar
  read -ra load <<<"${CI_KUBERNETES_LOAD:-}"
  context=$(kubectl config current-context)
  if ((${#load[@]} == 0)); then
    [[ $context == kind-* ]] || die "CI_KUBERNETES_LOAD is not set: how does the cluster $context get an image from an archive?"
    load=(kind load image-archive --name "${context#kind-}")
  fi
  "$here/image/build" "$DRIVER_IMAGE" "$(dirname "$distribution")" >"$dir/log/image.log" 2>&1 ||
    die "the driver's image was not built: $(tail -n 5 "$dir/log/image.log")"
  save_image "$DRIVER_IMAGE" "$archive"
  "${load[@]}" "$archive" >>"$dir/log/image.log" 2>&1 || die "the cluster does not take the image: $(tail -n 5 "$dir/log/image.log")"
  image "$BUSYBOX_IMAGE" "$archive" "$(command -v busybox)"
  "${load[@]}" "$archive" >>"$dir/log/image.log" 2>&1 || die "the cluster does not take the image: $(tail -n 5 "$dir/log/image.log")"
  rm -f "$archive"
}
