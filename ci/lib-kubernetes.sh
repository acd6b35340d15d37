# shellcheck shell=bash
# How a one-node Kubernetes is made. Sourced by ci/kubernetes, and run as the first process of PID, mount and network namespaces of
# its own: when it ends, all processes, mounts and interfaces end with it.
# A cluster is the folder $dir: kubeconfig, ready, log/, kubelet/, driver/, ceph/. ci/kubernetes sets $bin, $cni and $here, too.
# shellcheck disable=SC2154

# One address for the node and the API server, on the bridge of the pods; the API server has that of its service, too.
readonly NODE=node-1 NODE_IP=10.244.0.1 SERVICE_IP=10.96.0.1

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
  for name in runc busybox openssl ip unshare nsenter python3 podman debootstrap; do
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

kubectl() { "${bin:+$bin/}kubectl" --kubeconfig="$dir/kubeconfig" "$@"; }

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

# ---- Kubernetes ------------------------------------------------------------------------------------------------------

# start_registry: for images that are pushed and pulled; without TLS, in this network only.
start_registry() {
  mkdir -p "$dir/registry" "$dir/registries/$NODE_IP:5000"
  printf 'server = "http://%s:5000"\n' "$NODE_IP" >"$dir/registries/$NODE_IP:5000/hosts.toml"
  have docker-registry || return 0
  printf '%s\n' 'version: 0.1' "storage: {filesystem: {rootdirectory: $dir/registry}}" "http: {addr: '$NODE_IP:5000'}" >"$dir/registry.yaml"
  start registry docker-registry serve "$dir/registry.yaml"
}

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
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$dir/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "$dir/cni"
TOML
  start containerd "$bin/containerd" --config "$dir/containerd.toml"
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
  # Mounts in these two have to reach pods, and those of pods the kubelet.
  local folder
  for folder in kubelet driver/nodes; do
    mkdir -p "$dir/$folder"
    mount --bind "$dir/$folder" "$dir/$folder"
    mount --make-rshared "$dir/$folder"
  done
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
  cgroups
  certificates
  start_registry
  start_containerd
  start_control_plane
  await containerd 60 "$bin/ctr" -a "$dir/run/containerd.sock" version
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

