# Settings and helpers of the scripts here; sourced, not run. All of it can be set from outside.
: "${KNODE_DIR:?folder for everything a run writes}"
: "${KNODE_BIN:?folder with etcd, kube-apiserver, … kubectl}"   # as tools/control-plane/build.mjs makes it
: "${KNODE_CACHE:?folder for what the next run can use again}"  # images, and layers of builds
: "${NODE_NAME:=node0}"
: "${PAUSE_IMAGE:=localhost/pause:1}"
: "${HOST_IP:=172.29.255.1}"         # this end of the wire into the node
: "${NODE_IP:=172.29.255.2}"         # the node's end: API server https://NODE_IP:6443
: "${POD_CIDR:=10.244.0.0/16}"       # not 10.88.0.0/16: podman and buildah put a bridge there
: "${SERVICE_CIDR:=10.96.0.0/16}"
: "${API_SERVICE_IP:=10.96.0.1}"     # first of SERVICE_CIDR
: "${HOST_LINK:=knode0}"
: "${CGROUP_ROOT:=/knode}"
KUBECONFIG_ADMIN=$KNODE_DIR/admin.kubeconfig

# A file system that is an overlay itself cannot carry another one.
snapshotter() { [ "$(stat -f -c %T "$KNODE_DIR")" = overlayfs ] && echo native || echo overlayfs; }
die() { echo "node: $*" >&2; exit 1; }
node_pid() { cat "$KNODE_DIR/node.pid" 2>/dev/null; }
# Runs a command inside the node (its mounts, network and pids).
in_node() { nsenter -t "$(node_pid)" -m -n -p -i -u -- "$@"; }
k() { KUBECACHEDIR=$KNODE_DIR/kubectl-cache "$KNODE_BIN/kubectl" --kubeconfig "$KUBECONFIG_ADMIN" "$@"; }
ctr_() { in_node ctr --address /run/containerd/containerd.sock -n k8s.io "$@"; }
# until_ok SECONDS WHAT COMMAND…
until_ok() {
  local end=$((SECONDS + $1)) what=$2; shift 2
  until "$@" >/dev/null 2>&1; do
    [ -d "/proc/$(node_pid)" ] || die "the node ended while waiting for $what; its logs are in $KNODE_DIR/log"
    [ $SECONDS -lt $end ] || die "no $what in time; the logs are in $KNODE_DIR/log"
    sleep .1
  done
}
