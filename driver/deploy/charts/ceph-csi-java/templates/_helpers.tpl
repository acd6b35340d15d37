{{/* Names and labels. */}}
{{- define "csi.app" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "csi.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "csi.app" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "csi.app" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of a component: list context "nodeplugin"|"provisioner". */}}
{{- define "csi.component" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
{{- default (printf "%s-%s" (include "csi.fullname" $root) $values.name) $values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "csi.serviceAccount" -}}
{{- $account := index (index . 0).Values.serviceAccounts (index . 1) -}}
{{- if $account.create -}}
{{- default (include "csi.component" .) $account.name -}}
{{- else -}}
{{- default "default" $account.name -}}
{{- end -}}
{{- end -}}

{{- define "csi.selector" -}}
app: {{ include "csi.app" (index . 0) }}
component: {{ index . 1 }}
release: {{ (index . 0).Release.Name }}
{{- end -}}

{{/* Labels of pods: a new version of the chart alone restarts nothing. */}}
{{- define "csi.podLabels" -}}
{{ include "csi.selector" . }}
{{- with omit (default dict (index . 0).Values.commonLabels) "app" "component" "release" }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Labels: list context component, where the component may be empty, and optionally labels that replace any other. commonLabels replace
none that this chart selects by.
*/}}
{{- define "csi.labels" -}}
{{- $root := index . 0 -}}
{{- $labels := dict "chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") "heritage" $root.Release.Service -}}
{{- $selected := dict "app" (include "csi.app" $root) "release" $root.Release.Name -}}
{{- with index . 1 }}{{ $_ := set $selected "component" . }}{{ end -}}
{{- $labels = mergeOverwrite $labels (deepCopy (default dict $root.Values.commonLabels)) $selected -}}
{{- if gt (len .) 2 -}}
{{- $labels = mergeOverwrite $labels (deepCopy (default dict (index . 2))) -}}
{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{- define "csi.kind" -}}
{{- if .Values.type -}}
{{- .Values.type -}}
{{- else if contains "cephfs" .Values.driverName -}}
cephfs
{{- else -}}
rbd
{{- end -}}
{{- end -}}

{{/*
What is served, as a list: kind, name, instanceID, credentials, folder of the node's socket, socket of the controller, and the
values of classes and secret. What cannot be served is refused here.
*/}}
{{- define "csi.drivers" -}}
{{- $kind := include "csi.kind" . -}}
{{- if and (eq $kind "rbd") (ne .Values.type "rbd") -}}
{{- $given := dict "storageClass.fsName" (default dict .Values.storageClass).fsName "secret.adminID" (default dict .Values.secret).adminID -}}
{{- if not .Values.cephfs.enabled }}{{ $_ := set $given "radosNamespaceCephFS" .Values.radosNamespaceCephFS }}{{ end -}}
{{- range $key, $value := $given -}}
{{- if $value -}}
{{- fail (printf "%s is a value of CephFS, but the driver %s is one for RBD: set driverName (ceph-csi's chart for CephFS has cephfs.csi.ceph.com by default, which \"helm get values\" does not show), or type: rbd if it is one for RBD; a CephFS driver beside RBD has its values below cephfs" $key $.Values.driverName) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $own := pick .Values "instanceID" "credentials" "storageClass" "secret" "snapshotClass" "volumeGroupSnapshotClass" -}}
{{- $first := merge (dict "kind" $kind "name" .Values.driverName "suffix" "" "folder" "/csi" "socket" .Values.provisionerSocketFile) $own -}}
{{- $drivers := list $first -}}
{{- if .Values.cephfs.enabled -}}
{{- if eq $kind "cephfs" -}}
{{- fail "cephfs.enabled adds CephFS to RBD, but driverName or type say that the driver is one for CephFS already" -}}
{{- end -}}
{{- $second := pick .Values.cephfs "instanceID" "credentials" "storageClass" "secret" "snapshotClass" "volumeGroupSnapshotClass" -}}
{{- $drivers = append $drivers (merge (dict "kind" "cephfs" "name" .Values.cephfs.driverName "suffix" "-cephfs" "folder" "/csi-cephfs" "socket" "cephfs.sock") $second) -}}
{{- end -}}
{{- toYaml $drivers -}}
{{- end -}}

{{/* A value as text; a whole number without an exponent. */}}
{{- define "csi.text" -}}
{{- if kindIs "float64" . -}}
{{- if eq . (floor .) }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{- define "csi.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{/* A port that differs by kind, so that a release for RBD and one for CephFS share nodes: list context value port. */}}
{{- define "csi.port" -}}
{{- $port := int (default (index . 2) (index . 1)) -}}
{{- if and (not (index . 1)) (eq (include "csi.kind" (index . 0)) "cephfs") -}}
{{- add1 $port -}}
{{- else -}}
{{- $port -}}
{{- end -}}
{{- end -}}

{{/* Node plugins are on the nodes' network: a controller that is there as well has ports of its own. */}}
{{- define "csi.isBesideNode" -}}
{{- if and (eq (index . 1) "provisioner") (index . 0).Values.provisioner.enableHostNetwork }}true{{ end -}}
{{- end -}}

{{- define "csi.metricsPort" -}}
{{- $own := ternary 8082 8080 (eq (include "csi.isBesideNode" .) "true") -}}
{{- include "csi.port" (list (index . 0) (index (index . 0).Values (index . 1)).httpMetrics.containerPort $own) -}}
{{- end -}}

{{/* Two pods of a node that ask for one port: the second is never scheduled. */}}
{{- define "csi.requirePorts" -}}
{{- $node := include "csi.metricsPort" (list . "nodeplugin") -}}
{{- if and (eq (include "csi.isBesideNode" (list . "provisioner")) "true") .Values.nodeplugin.httpMetrics.enabled .Values.provisioner.httpMetrics.enabled -}}
{{- if eq $node (include "csi.metricsPort" (list . "provisioner")) -}}
{{- fail (printf "provisioner.httpMetrics.containerPort: with provisioner.enableHostNetwork it must differ from the node plugin's, which is %s" $node) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The port of csi-addons: list context component. */}}
{{- define "csi.addonsPort" -}}
{{- $root := index . 0 -}}
{{- if eq (include "csi.isBesideNode" .) "true" -}}
{{- include "csi.port" (list $root $root.Values.csiAddons.controllerPort 9072) -}}
{{- else if eq (index . 1) "provisioner" -}}
{{- include "csi.port" (list $root (coalesce $root.Values.csiAddons.controllerPort $root.Values.csiAddons.port) 9070) -}}
{{- else -}}
{{- include "csi.port" (list $root $root.Values.csiAddons.port 9070) -}}
{{- end -}}
{{- end -}}

{{/*
The driver's configuration file, which is JSON here: list context component. It stands in an environment variable, in which
kubelet replaces $(NODE_ID) and $(POD_IP).
*/}}
{{- define "csi.config" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $node := eq $component "nodeplugin" -}}
{{- $values := index $root.Values $component -}}
{{- $config := dict "gracePeriodSeconds" (max 1 (sub (int $values.terminationGracePeriodSeconds) 5)) -}}
{{- if $values.httpMetrics.enabled -}}
{{- $_ := set $config "metricsPort" (int (include "csi.metricsPort" .)) -}}
{{- $_ := set $config "metricsIp" "$(POD_IP)" -}}
{{- end -}}
{{- if not $node -}}
{{- $_ := set $config "rbdHardMaxCloneDepth" (int $values.hardMaxCloneDepth) -}}
{{- $_ := set $config "rbdSoftMaxCloneDepth" (int $values.softMaxCloneDepth) -}}
{{- $_ := set $config "maxSnapshotsOnImage" (int $values.maxSnapshotsOnImage) -}}
{{- $_ := set $config "minSnapshotsOnImage" (int $values.minSnapshotsOnImage) -}}
{{- $_ := set $config "reclaims" (int $values.reclaims) -}}
{{- $_ := set $config "reclaimsPerCluster" (int $values.reclaimsPerCluster) -}}
{{- $_ := set $config "groupsKeepVolumes" $values.groupsKeepVolumes -}}
{{- $_ := set $config "setMetadata" $values.setmetadata -}}
{{- $_ := set $config "clusterName" (default "" $values.clustername) -}}
{{- end -}}
{{- $slow := toString $root.Values.logSlowOperationInterval -}}
{{- if not (has $slow (list "" "<nil>")) }}{{- $_ := set $config "logSlowOpInterval" $slow -}}{{- end -}}
{{- if $node -}}
{{- with $values.kernelmountoptions }}{{- $_ := set $config "kernelMountOptions" . -}}{{- end -}}
{{- with $values.fusemountoptions }}{{- $_ := set $config "fuseMountOptions" . -}}{{- end -}}
{{- with $root.Values.readAffinity -}}
{{- $_ := set $config "readAffinity" (default false .enabled) -}}
{{- $_ := set $config "crushLocationLabels" (default list .crushLocationLabels) -}}
{{- end -}}
{{- end -}}
{{- $drivers := list -}}
{{- range include "csi.drivers" $root | fromYamlArray -}}
{{- $driver := dict "type" .kind "name" .name "controller" (not $node) "node" $node "nodeId" "$(NODE_ID)" -}}
{{- if $node -}}
{{- $_ := set $driver "endpoint" (printf "unix://%s/%s" .folder $root.Values.pluginSocketFile) -}}
{{- $_ := set $driver "csiAddonsEndpoint" (printf "unix://%s/csi-addons.sock" .folder) -}}
{{- $_ := set $driver "nodeFolder" (printf "%s/%s" $values.nodeFolder .name) -}}
{{- $_ := set $driver "maxVolumes" (int $values.maxVolumes) -}}
{{- $_ := set $driver "nodeReclaimBytesPerSecond" (int64 $values.reclaimBytesPerSecond) -}}
{{- else -}}
{{- $_ := set $driver "endpoint" (printf "unix:///csi/%s" .socket) -}}
{{- $_ := set $driver "csiAddonsEndpoint" (printf "unix:///csi/csi-addons%s.sock" .suffix) -}}
{{- end -}}
{{- with .instanceID }}{{- $_ := set $driver "instanceId" . }}{{- end -}}
{{- if .credentials -}}
{{- $_ := set $driver "credentials" (printf "/etc/ceph-csi-credentials/%s" .kind) -}}
{{- $_ := set $driver "attach" (not $node) -}}
{{- end -}}
{{- with $root.Values.topology.domainLabels }}{{- $_ := set $driver "domainLabels" . }}{{- end -}}
{{- $drivers = append $drivers $driver -}}
{{- end -}}
{{- $_ := set $config "drivers" $drivers -}}
{{- mustToPrettyJson $config -}}
{{- end -}}

{{/* The driver's command, environment and probes: list context component. */}}
{{- define "csi.driver" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
image: {{ include "csi.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
command: [tini, -s, --, sh, -c]
args:
  - printf %s "$CEPH_CSI_CONFIG" > /tmp/driver.yaml && exec ceph-csi serve --config /tmp/driver.yaml --v={{ $root.Values.logLevel }}
env:
  - name: NODE_ID
    valueFrom:
      fieldRef:
        fieldPath: spec.nodeName
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  {{- if $root.Values.encryptionKMSConfig }}
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  {{- end }}
  {{- with $root.Values.javaOptions }}
  - name: CEPH_CSI_JAVA_OPTS
    value: {{ . | quote }}
  {{- end }}
  {{- if and $root.Values.profile (eq (index . 1) "provisioner") }}
  - name: CEPH_CSI_PROFILE
    value: /tmp/ceph-csi.jfr
  {{- end }}
  - name: CEPH_CSI_CONFIG
    value: |-
      {{- include "csi.config" . | nindent 6 }}
{{- if $values.httpMetrics.enabled }}
ports:
  - name: metrics
    containerPort: {{ include "csi.metricsPort" . }}
    protocol: TCP
{{- end }}
{{- if $values.livenessprobe.enabled }}
{{- $node := eq (index . 1) "nodeplugin" }}
{{- $port := include "csi.port" (list $root $values.livenessprobe.port (ternary 9811 9808 $node)) }}
# The driver is not ready before a cluster has answered. It is not killed because of that for an hour.
startupProbe:
  httpGet:
    path: /healthz
    port: {{ $port }}
    {{- if $node }}
    host: 127.0.0.1
    {{- end }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 720
livenessProbe:
  httpGet:
    path: /healthz
    port: {{ $port }}
    {{- if $node }}
    host: 127.0.0.1
    {{- end }}
  periodSeconds: 60
  timeoutSeconds: 5
  failureThreshold: 5
{{- end }}
resources: {{ toJson $root.Values.nodeplugin.plugin.resources }}
{{- end -}}

{{/* What asks the first driver whether it is alive: list context component. */}}
{{- define "csi.livenessprobe" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
{{- $node := eq (index . 1) "nodeplugin" -}}
- name: liveness-probe
  image: "{{ $values.livenessprobe.image.repository }}:{{ $values.livenessprobe.image.tag }}"
  imagePullPolicy: {{ $values.livenessprobe.image.pullPolicy }}
  args:
    - --csi-address=/csi/{{ ternary $root.Values.pluginSocketFile $root.Values.provisionerSocketFile $node }}
    {{- if $node }}
    - --http-endpoint=127.0.0.1:{{ include "csi.port" (list $root $values.livenessprobe.port 9811) }}
    {{- else }}
    - --health-port={{ include "csi.port" (list $root $values.livenessprobe.port 9808) }}
    {{- end }}
    - --probe-timeout=3s
    - --v={{ $root.Values.sidecarLogLevel }}
  securityContext: {{ include (ternary "csi.privileged" "csi.restricted" $node) . | nindent 4 }}
  volumeMounts:
    - name: socket-dir
      mountPath: /csi
  resources: {{ toJson $values.livenessprobe.resources }}
{{- end -}}

{{/* The sidecar of csi-addons: list context component. */}}
{{- define "csi.addons" -}}
{{- $root := index . 0 -}}
{{- $addons := $root.Values.csiAddons -}}
- name: csi-addons
  image: "{{ $addons.image.repository }}:{{ $addons.image.tag }}"
  imagePullPolicy: {{ $addons.image.pullPolicy }}
  args:
    - --csi-addons-address=/csi/csi-addons.sock
    - --node-id=$(NODE_ID)
    - --controller-port={{ include "csi.addonsPort" . }}
    - --pod=$(POD_NAME)
    - --namespace=$(POD_NAMESPACE)
    - --pod-uid=$(POD_UID)
    - --stagingpath={{ $root.Values.kubeletDir }}/plugins/kubernetes.io/csi/
    - --v={{ $root.Values.sidecarLogLevel }}
    {{- range $addons.extraArgs }}
    - --{{ . }}
    {{- end }}
  env:
    - name: NODE_ID
      valueFrom:
        fieldRef:
          fieldPath: spec.nodeName
    - name: POD_NAME
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    - name: POD_NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
    - name: POD_UID
      valueFrom:
        fieldRef:
          fieldPath: metadata.uid
  ports:
    - name: csi-addons
      containerPort: {{ include "csi.addonsPort" . }}
      protocol: TCP
  securityContext: {{ include (ternary "csi.privileged" "csi.restricted" (eq (index . 1) "nodeplugin")) . | nindent 4 }}
  volumeMounts:
    - name: socket-dir
      mountPath: /csi
  resources: {{ toJson $addons.resources }}
{{- end -}}

{{/* Whether the node's driver reads labels of its Node object. */}}
{{- define "csi.readsNode" -}}
{{- $reads := or (not (empty .Values.topology.domainLabels)) (default dict .Values.readAffinity).enabled -}}
{{- range .Values.csiConfig }}{{ if eq (toString (default dict .readAffinity).enabled) "true" }}{{ $reads = true }}{{ end }}{{ end -}}
{{- if $reads }}true{{ end }}
{{- end -}}

{{- define "csi.hasAddons" -}}
{{- if .Values.csiAddons.enabled }}true{{ end -}}
{{- end -}}

{{/*
Whether a NetworkPolicy keeps others from the controller. csi-addons' sidecar takes every token of the cluster, and the Secrets of
which a caller says the names: it is not open unless somebody says so.
*/}}
{{- define "csi.hasNetworkPolicy" -}}
{{- $wanted := .Values.networkPolicy.enabled -}}
{{- if kindIs "bool" $wanted -}}
{{- if and $wanted .Values.provisioner.enableHostNetwork -}}
{{- fail "networkPolicy does not hold for pods on the node's network: provisioner.enableHostNetwork must be false" -}}
{{- end -}}
{{- if $wanted }}true{{ end -}}
{{- else if and .Values.csiAddons.enabled (not .Values.provisioner.enableHostNetwork) -}}
true
{{- end -}}
{{- end -}}

{{/* On the node a sidecar reaches the privileged driver's socket only if SELinux does not keep it from that. */}}
{{- define "csi.privileged" -}}
runAsUser: 0 # the driver's socket is root's
privileged: true
allowPrivilegeEscalation: true
{{- end -}}

{{- define "csi.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/*
csi-snapshotter from 8.6 on waits without end, for all snapshots, where the CRDs of group snapshots are older. What is rendered
without a cluster has neither version.
*/}}
{{- define "csi.requireGroupCrds" -}}
{{- $snapshotter := .Values.provisioner.snapshotter -}}
{{- $api := .Capabilities.APIVersions -}}
{{- $old := or ($api.Has "groupsnapshot.storage.k8s.io/v1beta1") ($api.Has "groupsnapshot.storage.k8s.io/v1beta2") -}}
{{- if and (ne (toString $snapshotter.enabled) "false") ($snapshotter.args).enableVolumeGroupSnapshots $old (not ($api.Has "groupsnapshot.storage.k8s.io/v1")) -}}
{{- $tag := toString $snapshotter.image.tag -}}
{{- if regexMatch "^v?[0-9]+[.][0-9]+[.][0-9]+$" $tag -}}
{{- if semverCompare ">=8.6.0" $tag -}}
{{- fail (printf "provisioner.snapshotter.args.enableVolumeGroupSnapshots: csi-snapshotter %s needs the CRDs of group snapshots in the version v1, of external-snapshotter 8.6 or newer; the cluster has older ones" $tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Volumes and mounts that controller and node have. */}}
{{- define "csi.mounts" -}}
- name: ceph-csi-config
  mountPath: /etc/ceph-csi-config
  readOnly: true
- name: ceph-config
  mountPath: /etc/ceph
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .Values.encryptionKMSConfig }}
- name: ceph-csi-encryption-kms-config
  mountPath: /etc/ceph-csi-encryption-kms-config
  readOnly: true
{{- if eq (include "csi.kmsByRole" .) "true" }}
- name: oidc-token
  mountPath: /run/secrets/tokens
  readOnly: true
{{- end }}
{{- end }}
{{- range include "csi.drivers" . | fromYamlArray }}
{{- if .credentials }}
- name: credentials-{{ .kind }}
  mountPath: /etc/ceph-csi-credentials/{{ .kind }}
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{- define "csi.volumes" -}}
- name: ceph-csi-config
  {{- if .Values.configMapKey }}
  projected:
    sources:
      - configMap:
          name: {{ .Values.configMapName }}
          items:
            - key: {{ .Values.configMapKey }}
              path: config.json
      - configMap:
          name: {{ .Values.configMapName }}
          optional: true
          items:
            - key: cluster-mapping.json
              path: cluster-mapping.json
  {{- else }}
  configMap:
    name: {{ .Values.configMapName }}
  {{- end }}
- name: ceph-config
  configMap:
    name: {{ .Values.cephConfConfigMapName }}
- name: tmp
  emptyDir: {}
{{- if .Values.encryptionKMSConfig }}
- name: ceph-csi-encryption-kms-config
  configMap:
    name: {{ .Values.kmsConfigMapName }}
{{- if eq (include "csi.kmsByRole" .) "true" }}
- name: oidc-token
  projected:
    sources:
      - serviceAccountToken:
          path: oidc-token
          expirationSeconds: 3600
          audience: ceph-csi-kms
{{- end }}
{{- end }}
{{- range include "csi.drivers" . | fromYamlArray }}
{{- if .credentials }}
{{- /* A Secret that is not there leaves its cluster without credentials, and not all nodes without a plugin. */}}
{{- $made := ternary (default (printf "csi-%s-secret" .kind) .secret.name) "" (eq (toString .secret.create) "true") }}
{{- $admin := and (not .secret.userID) .secret.adminID }}
- name: credentials-{{ .kind }}
  projected:
    defaultMode: 0440
    sources:
      {{- range .credentials }}
      {{- $word := ternary "admin" "user" (and (eq .secretName $made) (not (empty $admin))) }}
      - secret:
          name: {{ .secretName }}
          optional: true
          items:
            - key: {{ default (printf "%sID" $word) .userIDKey }}
              path: {{ .clusterID }}/userID
            - key: {{ default (printf "%sKey" $word) .userKeyKey }}
              path: {{ .clusterID }}/userKey
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}
