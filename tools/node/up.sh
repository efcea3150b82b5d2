#!/usr/bin/env bash
# Starts a one-node Kubernetes in namespaces of its own and waits until the node is Ready: up.sh IMAGE.tar…
# As root, with what packages.ts installs. Then KUBECONFIG=$KNODE_DIR/admin.kubeconfig; pods, Services and the API server are
# reachable from the host by address.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"; . "$here/pki.sh"; . "$here/config.sh"
export KNODE_DIR KNODE_BIN KNODE_CACHE NODE_NAME PAUSE_IMAGE HOST_IP NODE_IP POD_CIDR SERVICE_CIDR API_SERVICE_IP CGROUP_ROOT
[ ! -e "$KNODE_DIR/node.pid" ] || die "$KNODE_DIR/node.pid exists: run down.sh first"
mkdir -p "$KNODE_DIR/log"
pki; config

# cgroup v1: one folder in every hierarchy. cpuset ones start empty and must get cpus and mems before a task may join.
for c in /sys/fs/cgroup/*/; do
  [ -e "$c/cgroup.procs" ] || continue
  mkdir -p "$c$CGROUP_ROOT"
  if [ -e "$c/cpuset.cpus" ]; then
    cat "$c/cpuset.cpus" > "$c$CGROUP_ROOT/cpuset.cpus"; cat "$c/cpuset.mems" > "$c$CGROUP_ROOT/cpuset.mems"
  fi
done

# unshare stays as the parent of the node's process 1; the file gets the pid of the latter, as the host sees it.
setsid unshare --mount --net --pid --ipc --uts --fork --mount-proc --kill-child \
  bash "$here/init.sh" >> "$KNODE_DIR/log/init.log" 2>&1 < /dev/null &
parent=$!
until p=$(cat "/proc/$parent/task/$parent/children" 2>/dev/null) && [ -n "$p" ]; do [ -d /proc/$parent ] || die "unshare failed: $(cat "$KNODE_DIR/log/init.log")"; sleep .02; done
echo ${p%% *} > "$KNODE_DIR/node.pid"

ip link add "$HOST_LINK" type veth peer name eth0 netns "$(node_pid)"
ip addr add "$HOST_IP/30" dev "$HOST_LINK"
ip link set "$HOST_LINK" up
ip route add "$POD_CIDR" via "$NODE_IP"
ip route add "$SERVICE_CIDR" via "$NODE_IP"

until_ok 30 containerd ctr_ version
"$here/load.sh" "$@" >/dev/null & images=$!   # while the rest starts
until_ok 60 "API server" k get --raw /readyz
until_ok 60 "node object" k get node "$NODE_NAME"
until_ok 60 "service account" k get serviceaccount default
ready() { [ "$(k get node "$NODE_NAME" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}')" = True ]; }
until_ok 60 "Ready node" ready
until_ok 30 kube-proxy in_node curl -sf http://127.0.0.1:10256/healthz
[ ! -x "$KNODE_BIN/coredns" ] || { until_ok 30 CoreDNS in_node curl -sf http://127.0.0.1:8081/health; }
wait $images
