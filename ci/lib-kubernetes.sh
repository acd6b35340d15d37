# shellcheck shell=bash
# How a one-node Kubernetes is made, and the driver put beside its kubelet. Sourced by ci/kubernetes, and run as the first process
# of PID, mount and network namespaces of its own: when it ends, all processes, mounts and interfaces end with it.
# A cluster is the folder $dir: kubeconfig, ready, log/, kubelet/, driver/, ceph/. ci/kubernetes sets $bin, $cni, $here and $program, too.
# shellcheck disable=SC2154

# One address for the node and the API server, on the bridge of the pods; the API server has that of its service, too.
readonly NODE=node-1 NODE_IP=10.244.0.1 SERVICE_IP=10.96.0.1
readonly CLUSTER_ID=test NAMESPACE=ceph-csi
readonly BINARIES=(kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl etcd containerd containerd-shim-runc-v2 ctr
  csi-provisioner csi-attacher csi-resizer csi-snapshotter snapshot-controller csi-node-driver-registrar csi-addons-manager
  csi-addons-sidecar)

# check_binaries: that all of $bin and of this machine is there.
check_binaries() {
  local name absent=()
  for name in "${BINARIES[@]}"; do [[ -x $bin/$name ]] || absent+=("$name"); done
  ((${#absent[@]} == 0)) || die "KUBERNETES_BIN is $bin, where these programs are missing: ${absent[*]}"
  compgen -G "$bin/crds/*.yaml" >/dev/null ||
    die "KUBERNETES_BIN is $bin; its folder crds has no CRDs of snapshots, group snapshots and csi-addons"
  for name in runc busybox openssl ip unshare nsenter python3; do
    have "$name" || die "$name is not installed: run 'ci/install kubernetes'"
  done
  [[ -x $cni/bridge ]] || die "the CNI plugins are not in $cni: run 'ci/install kubernetes'"
}

# start NAME COMMAND...: in the background, its output in log/NAME.log.
start() {
  local name=$1
  shift
  "$@" </dev/null >>"$dir/log/$name.log" 2>&1 &
  echo $! >"$dir/run/$name.pid"
}

# await NAME SECONDS COMMAND...: until the command succeeds; fails when process NAME ends or the time is up.
await() {
  local name=$1 end=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    kill -0 "$(<"$dir/run/$name.pid")" 2>/dev/null || { tail -n 15 "$dir/log/$name.log" >&2; die "$name ended: see $dir/log/$name.log"; }
    ((SECONDS < end)) || { tail -n 15 "$dir/log/$name.log" >&2; die "$name was not ready in time: see $dir/log/$name.log"; }
    sleep 0.3
  done
}

kubectl() { "$bin/kubectl" --kubeconfig="$dir/kubeconfig" "$@"; }

# ---- the machine's side ----------------------------------------------------------------------------------------------

# folders: where containerd and the kubelet write whatever they are told. What is there is not to be seen, nor changed.
folders() {
  local path
  for path in /run/netns /run/containerd /var/lib/cni /var/log/containers; do
    mkdir -p "$path"
    mount -t tmpfs -o mode=755 ci-kubernetes "$path"
  done
}

network() {
  ip link set lo up
  ip addr add "$SERVICE_IP/32" dev lo
  ip link add pods type bridge
  ip addr add "$NODE_IP/24" dev pods
  ip link set pods up
  echo 1 >/proc/sys/net/ipv4/ip_forward
  cat >"$dir/cni/pods.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "$dir/cni/addresses", "ranges": [[{"subnet": "${NODE_IP%.*}.0/24"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
}

# cgroups: one of our own in each hierarchy; the kubelet makes its own below.
cgroups() {
  local path
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then mkdir -p "/sys/fs/cgroup/$cgroup"; return; fi
  for path in /sys/fs/cgroup/*/; do
    [[ ! -e $path/cgroup.procs ]] || mkdir -p "$path$cgroup"
  done
  if [[ -d /sys/fs/cgroup/cpuset/$cgroup ]]; then
    for path in cpus mems; do
      cat "/sys/fs/cgroup/cpuset/cpuset.$path" >"/sys/fs/cgroup/cpuset/$cgroup/cpuset.$path"
    done
  fi
}

# certificates: an authority, the API server's, and that by which the API server is known to the kubelet.
certificates() {
  local ca=(-CA "$dir/pki/ca.crt" -CAkey "$dir/pki/ca.key") ec=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
  (
    cd "$dir/pki" || exit
    openssl req -x509 "${ec[@]}" -keyout ca.key -out ca.crt -days 30 -subj /CN=ci-kubernetes -addext basicConstraints=critical,CA:TRUE
    certificate() { # NAME SUBJECT EXTENSION...
      local name=$1 subject=$2
      shift 2
      openssl req "${ec[@]}" -keyout "$name.key" -subj "$subject" |
        openssl x509 -req "${ca[@]}" -days 30 -out "$name.crt" -extfile <(printf '%s\n' "$@")
    }
    certificate apiserver /CN=kube-apiserver "subjectAltName=IP:127.0.0.1,IP:$NODE_IP,IP:$SERVICE_IP,DNS:kubernetes.default.svc" \
      extendedKeyUsage=serverAuth
    certificate client /O=system:masters/CN=kube-apiserver extendedKeyUsage=clientAuth
    openssl ecparam -name prime256v1 -genkey -noout -out accounts.key
    openssl ec -in accounts.key -pubout -out accounts.pub
  ) >"$dir/log/openssl.log" 2>&1 || die "openssl failed: see $dir/log/openssl.log"
}

# image NAME FILE: an archive of an image that holds busybox; without a command it sleeps, as the containers of pods' sandboxes do.
image() {
  python3 - "$1" "$2" "$(command -v busybox)" <<'PYTHON'
import hashlib, io, json, subprocess, sys, tarfile
name, file, busybox = sys.argv[1:]
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
    add(root, "bin/busybox", open(busybox, "rb").read(), mode=0o755)
    for applet in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            add(root, "bin/" + applet, type=tarfile.SYMTYPE, linkname="busybox", mode=0o777)
layer = layer.getvalue()
digest = hashlib.sha256(layer).hexdigest()
config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]},
                     "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sleep", "2147483647"]}}).encode()
with tarfile.open(file, "w") as archive:
    add(archive, "config.json", config)
    add(archive, "layer.tar", layer)
    add(archive, "manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
PYTHON
}

# ---- Kubernetes ------------------------------------------------------------------------------------------------------

start_containerd() {
  cat >"$dir/containerd.toml" <<TOML
version = 2
root = "$dir/containerd/root"
state = "$dir/containerd/state"
[grpc]
  address = "$dir/run/containerd.sock"
[ttrpc]
  address = "$dir/run/containerd.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "$dir/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/local/busybox:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "$dir/cni"
TOML
  start containerd "$bin/containerd" --config "$dir/containerd.toml"
}

import_images() {
  await containerd 60 "$bin/ctr" -a "$dir/run/containerd.sock" version
  image docker.io/local/busybox:1 "$dir/busybox.tar"
  "$bin/ctr" -a "$dir/run/containerd.sock" -n k8s.io images import "$dir/busybox.tar" >>"$dir/log/images.log" 2>&1 ||
    die "containerd does not take the image of busybox: see $dir/log/images.log"
}

start_control_plane() {
  local token
  token=$(openssl rand -hex 16)
  (umask 077 && echo "$token,admin,admin,\"system:masters\"" >"$dir/pki/tokens.csv")
  (
    umask 077
    cat >"$dir/kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: ci
clusters: [{name: ci, cluster: {server: "https://$NODE_IP", certificate-authority-data: $(base64 -w0 "$dir/pki/ca.crt")}}]
users: [{name: ci, user: {token: $token}}]
contexts: [{name: ci, context: {cluster: ci, user: ci}}]
YAML
  )
  start etcd "$bin/etcd" --data-dir "$dir/etcd" --unsafe-no-fsync --log-level warn
  start kube-apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --secure-port=443 --advertise-address="$NODE_IP" \
    --tls-cert-file="$dir/pki/apiserver.crt" --tls-private-key-file="$dir/pki/apiserver.key" --cert-dir="$dir/pki" \
    --kubelet-client-certificate="$dir/pki/client.crt" --kubelet-client-key="$dir/pki/client.key" \
    --kubelet-preferred-address-types=InternalIP --token-auth-file="$dir/pki/tokens.csv" --authorization-mode=RBAC \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$dir/pki/accounts.pub" \
    --service-account-signing-key-file="$dir/pki/accounts.key" --service-cluster-ip-range="${SERVICE_IP%.*}.0/24" \
    --allow-privileged=true --event-ttl=24h --profiling=false
  await kube-apiserver 120 kubectl get --raw=/readyz
  start kube-controller-manager "$bin/kube-controller-manager" --kubeconfig="$dir/kubeconfig" --leader-elect=false \
    --bind-address=127.0.0.1 --cert-dir="$dir/pki" --service-account-private-key-file="$dir/pki/accounts.key" \
    --root-ca-file="$dir/pki/ca.crt" --flex-volume-plugin-dir="$dir/flex" --pvclaimbinder-sync-period=5s
  start kube-scheduler "$bin/kube-scheduler" --kubeconfig="$dir/kubeconfig" --leader-elect=false --bind-address=127.0.0.1 \
    --cert-dir="$dir/pki"
}

# Eviction, limits of the node and the OOM score are this machine's own business.
start_kubelet() {
  mount --bind "$dir/kubelet" "$dir/kubelet"
  mount --make-rshared "$dir/kubelet"
  cat >"$dir/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
healthzBindAddress: 127.0.0.1
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $dir/pki/ca.crt}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$dir/run/containerd.sock
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
enforceNodeAllocatable: []
oomScoreAdj: 0
failSwapOn: false
makeIPTablesUtilChains: false
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
podLogsDir: $dir/log/pods
volumePluginDir: $dir/flex
resolvConf: ""
syncFrequency: 10s
volumeStatsAggPeriod: 10s
featureGates: {KubeletCrashLoopBackOffMax: true}
crashLoopBackOff: {maxContainerRestartPeriod: 2s}
YAML
  start kubelet "$bin/kubelet" --config="$dir/kubelet.yaml" --kubeconfig="$dir/kubeconfig" --hostname-override="$NODE" \
    --node-ip="$NODE_IP" --root-dir="$dir/kubelet" --cert-dir="$dir/pki" --v=2
}

start_kubernetes() {
  folders
  network
  cgroups
  certificates
  start_containerd
  start_control_plane
  import_images
  start_kubelet
  kubectl apply --server-side -f "$bin/crds/" >"$dir/log/crds.log" 2>&1 || die "the CRDs are not accepted: see $dir/log/crds.log"
  kubectl create namespace "$NAMESPACE" >>"$dir/log/crds.log"
  kubectl wait --for=condition=Established crd --all --timeout=60s >>"$dir/log/crds.log"
  start snapshot-controller "$bin/snapshot-controller" --kubeconfig="$dir/kubeconfig" --leader-election=false \
    --feature-gates=CSIVolumeGroupSnapshot=true
  start csi-addons-manager "$bin/csi-addons-manager" --kubeconfig="$dir/kubeconfig" --namespace="$NAMESPACE" --enable-auth=false \
    --health-probe-bind-address=0
  await kube-controller-manager 60 kubectl -n "$NAMESPACE" get serviceaccount default
  await kubelet 60 kubectl wait --for=condition=Ready "node/$NODE" --timeout=5s
}

# ---- the driver ------------------------------------------------------------------------------------------------------

# values: of the chart. Secrets, classes and clusters are those that users would give; the mounters are what needs no kernel module.
values() {
  local rbd_key cephfs_key
  rbd_key=$(ceph-authtool "$CEPH_RBD_KEYRING" -n client.csi-rbd-provisioner --print-key)
  cephfs_key=$(ceph-authtool "$CEPH_CEPHFS_KEYRING" -n client.csi-cephfs-provisioner --print-key)
  cat <<YAML
kubeletDir: $dir/kubelet
csiConfig: [{clusterID: $CLUSTER_ID, monitors: ["$CEPH_MON_HOST"]}]
credentials: [{clusterID: $CLUSTER_ID, secretName: csi-rbd-secret}]
sidecarLogLevel: 4
logLevel: 4
storageClass:
  create: true
  clusterID: $CLUSTER_ID
  pool: rbd
  mounter: fuse
  imageFeatures: layering,exclusive-lock,object-map,fast-diff,deep-flatten
secret: {create: true, userID: csi-rbd-provisioner, userKey: "$rbd_key"}
snapshotClass: {create: true}
volumeGroupSnapshotClass: {create: true}
volumeAttributesClasses: [{name: silver, parameters: {qos.iopsLimit: "5000"}}]
provisioner:
  replicaCount: 1
  podSecurityContext: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0} # the socket is that of a driver that is root
  livenessprobe: {enabled: false}
  snapshotter: {args: {enableVolumeGroupSnapshots: true}}
nodeplugin:
  livenessprobe: {enabled: false}
csiAddons: {enabled: true, extraArgs: [enable-auth=false]}
cephfs:
  enabled: true
  credentials: [{clusterID: $CLUSTER_ID, secretName: csi-cephfs-secret}]
  storageClass: {create: true, fsName: cephfs, mounter: fuse}
  secret: {create: true, userID: csi-cephfs-provisioner, userKey: "$cephfs_key"}
  snapshotClass: {create: true}
  volumeGroupSnapshotClass: {create: false}
YAML
}

# beside_the_kubelet: reads the chart's objects and prints them without the driver's containers: the sidecars run from the folder of
# binaries and reach sockets of this machine. What the containers would have got (configuration, clusters, credentials) goes into
# $dir/driver, with the paths that it has here.
beside_the_kubelet() {
  python3 - "$dir" "$bin" "$NODE" "$NODE_IP" "$1" <<'PYTHON'
import base64, json, os, sys
folder, binaries, node, address, file = sys.argv[1:]
driver = folder + "/driver"
text, objects = open(file).read().strip(), []
while text:
    found, end = json.JSONDecoder().raw_decode(text)
    objects += found.get("items", [found])
    text = text[end:].lstrip()
def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(text)
def named(kind, name):
    return next(o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name)
def secret(name, key):
    found = named("Secret", name)
    return found["stringData"][key] if key in found.get("stringData", {}) else base64.b64decode(found["data"][key]).decode()
def program(image):
    name = image.rsplit("/", 1)[-1].split(":")[0]
    return {"k8s-sidecar": "csi-addons-sidecar"}.get(name, name)
os.makedirs(driver + "/nodes", exist_ok=True)
for workload in objects:
    if workload["kind"] not in ("Deployment", "DaemonSet"):
        continue
    pod = workload["spec"]["template"]["spec"]
    component = "node" if workload["kind"] == "DaemonSet" else "controller"
    plugin = next(c for c in pod["containers"] if c["name"] == "csi-plugin")
    volumes = {v["name"]: v for v in pod["volumes"]}
    if component == "controller":
        os.makedirs(driver + "/sockets", exist_ok=True)
        volumes["socket-dir"] = {"name": "socket-dir", "hostPath": {"path": driver + "/sockets"}}
    here = {"/etc/ceph-csi-config": driver + "/clusters"}
    for mount in plugin["volumeMounts"]:
        volume = volumes[mount["name"]]
        if "hostPath" in volume:
            here[mount["mountPath"]] = volume["hostPath"]["path"]
        for source in volume.get("projected", {}).get("sources", []):
            here[mount["mountPath"]] = driver + mount["mountPath"]
            for item in source["secret"]["items"]:
                write(driver + mount["mountPath"] + "/" + item["path"], secret(source["secret"]["name"], item["key"]))
    def path_here(text):
        prefix, path = ("unix://", text[7:]) if text.startswith("unix://") else ("", text)
        best = max((m for m in here if path == m or path.startswith(m + "/")), key=len, default=None)
        return text if best is None else prefix + here[best] + path[len(best):]
    text = next(e["value"] for e in plugin["env"] if e["name"] == "CEPH_CSI_CONFIG")
    config = json.loads(text.replace("$(NODE_ID)", node).replace("$(POD_IP)", address if component == "node" else "127.0.0.1"))
    config["clustersFile"] = path_here("/etc/ceph-csi-config/config.json")
    for one in config["drivers"]:
        one.update({key: path_here(one[key]) for key in ("endpoint", "csiAddonsEndpoint", "credentials") if key in one})
        one["nodeFolder"] = driver + "/nodes/" + one["name"]
        os.makedirs(os.path.dirname(one["endpoint"][7:]), exist_ok=True)
    write(driver + "/" + component + ".yaml", json.dumps(config, indent=2))
    pod["containers"] = [c for c in pod["containers"] if c is not plugin]
    for container in pod["containers"]:
        container["command"] = ["/kubernetes/" + program(container["image"])]
        container.update({"image": "local/busybox:1", "imagePullPolicy": "Never"})
        container["volumeMounts"].append({"name": "kubernetes", "mountPath": "/kubernetes", "readOnly": True})
    wanted = {m["name"] for c in pod["containers"] for m in c["volumeMounts"]} - {"kubernetes"}
    pod["volumes"] = [volumes[name] for name in volumes if name in wanted]
    pod["volumes"].append({"name": "kubernetes", "hostPath": {"path": binaries}})
    pod["terminationGracePeriodSeconds"] = 1
clusters = next(o for o in objects if o["kind"] == "ConfigMap" and "config.json" in o["data"])
write(driver + "/clusters/config.json", clusters["data"]["config.json"])
json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, sys.stdout)
PYTHON
}

# serve COMPONENT: the driver, started again whenever it ends, as the kubelet does it. driver/COMPONENT.pid is the driver's.
serve() {
  while :; do
    "$program" serve --config "$dir/driver/$1.yaml" --v 4 </dev/null >>"$dir/log/driver-$1.log" 2>&1 &
    echo $! >"$dir/driver/$1.pid"
    wait $! || true
    sleep 1
  done
}

# served DRIVER...: whether the node has them all.
served() {
  local drivers driver
  drivers=$(kubectl get csinode "$NODE" -o 'jsonpath={.spec.drivers[*].name}')
  for driver in "$@"; do [[ " $drivers " == *" $driver "* ]] || return 1; done
}

install_driver() {
  (umask 077 && values >"$dir/values.yaml")
  (
    umask 077
    "$here/manifests" --namespace "$NAMESPACE" --kubernetes 1.36.0 --values "$dir/values.yaml" >"$dir/manifests.yaml"
    kubectl create --dry-run=client --validate=false -n "$NAMESPACE" -f "$dir/manifests.yaml" -o json >"$dir/manifests.json"
    beside_the_kubelet "$dir/manifests.json" >"$dir/applied.json"
  ) || die "the chart cannot be rendered: see above"
  serve controller &
  echo $! >"$dir/run/driver-controller.pid"
  serve node &
  echo $! >"$dir/run/driver-node.pid"
  kubectl apply --server-side -f "$dir/applied.json" >"$dir/log/chart.log" 2>&1 || die "the chart's objects are not accepted: see $dir/log/chart.log"
  await driver-node 90 served rbd.csi.ceph.com cephfs.csi.ceph.com
  await driver-controller 90 kubectl -n "$NAMESPACE" rollout status deployment/ceph-csi-java-provisioner --timeout=5s
}
