# shellcheck shell=bash
# How the driver gets into the cluster of ci/kubernetes: by the chart, with its image, or as two processes beside the kubelet. Sourced
# by ci/kubernetes, which sets $dir, $here, $root and $on_host, and of a cluster of its own $bin and $program.
# shellcheck disable=SC2154

readonly CLUSTER_ID=test NAMESPACE=ceph-csi RELEASE=ceph-csi-java

# values: of the chart. Secrets, classes and clusters are those that users would give; the mounters are what needs no kernel module.
values() {
  local rbd_key cephfs_key
  rbd_key=$(ceph-authtool "$CEPH_RBD_KEYRING" -n client.csi-rbd-provisioner --print-key)
  cephfs_key=$(ceph-authtool "$CEPH_CEPHFS_KEYRING" -n client.csi-cephfs-provisioner --print-key)
  cat <<YAML
image: {repository: ${DRIVER_IMAGE%:*}, tag: ${DRIVER_IMAGE##*:}}
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
cephfs:
  enabled: true
  credentials: [{clusterID: $CLUSTER_ID, secretName: csi-cephfs-secret}]
  storageClass: {create: true, fsName: cephfs, mounter: fuse}
  secret: {create: true, userID: csi-cephfs-provisioner, userKey: "$cephfs_key"}
  snapshotClass: {create: true}
  volumeGroupSnapshotClass: {create: false}
$(values_of_the_node)
YAML
}

# values_of_the_node: the folders of our own node; what has no program in $bin is left out.
values_of_the_node() {
  local probe=false
  if [[ -z $bin ]]; then
    printf '%s\n' 'provisioner: {snapshotter: {args: {enableVolumeGroupSnapshots: true}}}' 'csiAddons: {enabled: true}'
    return
  fi
  [[ ! -x $bin/livenessprobe || -n $on_host ]] || probe=true
  cat <<YAML
csiAddons: {enabled: true, extraArgs: [enable-auth=false]}
kubeletDir: $dir/kubelet
cephLogDirHostPath: $dir/log/ceph
selinuxMount: false
provisioner:
  livenessprobe: {enabled: $probe}
  snapshotter: {args: {enableVolumeGroupSnapshots: true}}
  ${on_host:+replicaCount: 1}
  ${on_host:+podSecurityContext: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0\}} # the socket of a driver that is root
nodeplugin:
  nodeFolder: $dir/driver/nodes
  livenessprobe: {enabled: $probe}
YAML
}

# beside_the_kubelet: reads the chart's objects and prints them without the driver's containers: the sidecars reach sockets of this
# machine. What the containers would have got (configuration, clusters, credentials) goes into
# $dir/driver, with the paths that it has here.
beside_the_kubelet() {
  python3 - "$dir" "$NODE" "$NODE_IP" "$1" <<'PYTHON'
import base64, json, os, sys
folder, node, address, file = sys.argv[1:]
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
    wanted = {m["name"] for c in pod["containers"] for m in c["volumeMounts"]}
    pod["volumes"] = [volumes[name] for name in volumes if name in wanted]
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

# install_driver: the chart, as users install it, and waits until all of it is ready.
install_driver() {
  if [[ -n $on_host ]]; then
    install_beside_the_kubelet
    return
  fi
  KUBECONFIG=$dir/kubeconfig "$here/helm" install "$RELEASE" "$root/driver/deploy/charts/ceph-csi-java" -n "$NAMESPACE" --create-namespace -f "$dir/values.yaml" \
    >"$dir/log/chart.log" 2>&1 || die "the chart was not installed: $(tail -n 5 "$dir/log/chart.log")"
  {
    kubectl -n "$NAMESPACE" rollout status "deployment/$RELEASE-provisioner" --timeout=180s &&
      kubectl -n "$NAMESPACE" rollout status "daemonset/$RELEASE-nodeplugin" --timeout=180s
  } >>"$dir/log/chart.log" 2>&1 ||
    die "the driver's pods are not ready: $(kubectl -n "$NAMESPACE" get pods 2>&1; kubectl -n "$NAMESPACE" get events 2>&1 | tail -n 20)"
}

install_beside_the_kubelet() {
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
  await driver-controller 90 kubectl -n "$NAMESPACE" rollout status "deployment/$RELEASE-provisioner" --timeout=5s
}
