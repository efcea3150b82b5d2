# Configuration files; sourced by up.sh.
config() {
  local e=$KNODE_DIR/etc; mkdir -p "$e/cni"
  # containerd 1.6 (Debian 12). Root on disk, state in the node's own /run.
  cat > "$e/containerd.toml" <<C
version = 2
root = "$KNODE_DIR/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$KNODE_DIR/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  # No CAP_SYS_RESOURCE: a score below the daemon's own is refused by the kernel, so never ask for one.
  restrict_oom_score_adj = true
  # No hugetlb controller on this kernel.
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$e/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "$(snapshotter)"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
C
  # hairpinMode: a pod may reach itself through its own Service.
  cat > "$e/cni/10-bridge.conflist" <<C
{"cniVersion": "0.4.0", "name": "bridge", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "$POD_CIDR"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
C
  cat > "$e/kubelet.yaml" <<C
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $KNODE_DIR/pki/client-ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $KNODE_DIR/pki/kubelet-serving.crt
tlsPrivateKeyFile: $KNODE_DIR/pki/kubelet-serving.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs          # containerd 1.6 cannot tell it
cgroupRoot: $CGROUP_ROOT
cgroupsPerQOS: true
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: true
oomScoreAdj: 0                  # -999 would be refused
maxOpenFiles: 20000             # the hard limit here; the default 1000000 is refused
readOnlyPort: 0
healthzPort: 10248
clusterDomain: cluster.local
clusterDNS: [$NODE_IP]
resolvConf: $e/resolv.conf
podLogsDir: $KNODE_DIR/log/pods
volumePluginDir: $KNODE_DIR/kubelet/volume-plugins
syncFrequency: 5s               # a changed Secret or ConfigMap is in the volume within about this long
nodeStatusReportFrequency: 30s
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100   # nothing can be pulled again, so nothing may be collected
imageGCLowThresholdPercent: 99
logging: {verbosity: 2}
C
  : > "$e/resolv.conf"
  # All conntrack values 0 = leave the kernel's alone (they are not writable from a network namespace).
  cat > "$e/kube-proxy.yaml" <<C
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: $NODE_NAME
clientConnection: {kubeconfig: $KNODE_DIR/kube-proxy.kubeconfig}
bindAddress: $NODE_IP
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
detectLocalMode: ClusterCIDR
clusterCIDR: $POD_CIDR
oomScoreAdj: 0
nftables: {minSyncPeriod: 100ms}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
C
  # CoreDNS as a process of the node on its address; no Service of its own, so pods need no kube-proxy to resolve.
  # Names outside the cluster do not exist: two server blocks, since template answers before kubernetes does.
  cat > "$e/Corefile" <<C
cluster.local:53 in-addr.arpa:53 {
  errors
  health 127.0.0.1:8081
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $KNODE_DIR/admin.kubeconfig
    pods insecure
    ttl 5
  }
}
.:53 {
  errors
  template ANY ANY {
    rcode NXDOMAIN
  }
}
C
}
