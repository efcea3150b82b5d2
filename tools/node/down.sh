#!/usr/bin/env bash
# Ends the node and removes what it left; its logs stay. May be run twice.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
p=$(node_pid) || p=""
if [ -n "$p" ] && [ -d "/proc/$p" ]; then
  grep -q init.sh "/proc/$p/cmdline" || die "pid $p is not the node"
  kill -KILL "$p"      # pid 1 of a pid namespace: the kernel kills all the rest with it
  for _ in $(seq 100); do [ -d "/proc/$p" ] || break; sleep .1; done
fi
ip link del "$HOST_LINK" 2>/dev/null || true     # its routes go with it
# cgroup folders, deepest first; they are empty once the processes are gone.
for _ in $(seq 50); do
  find /sys/fs/cgroup/*"$CGROUP_ROOT" -depth -type d -exec rmdir {} + 2>/dev/null || true
  ls -d /sys/fs/cgroup/*"$CGROUP_ROOT" >/dev/null 2>&1 || break
  sleep .1
done
rmdir /var/lib/kubelet /var/lib/cni 2>/dev/null || true   # only mount points of the node, unless something else uses them
rm -rf "$KNODE_DIR"/{etcd,kubelet,containerd,pki,etc,kubectl-cache,node.pid,*.kubeconfig}
