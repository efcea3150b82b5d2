#!/usr/bin/env bash
# Process 1 of the node: started by up.sh in its own mount, network, pid, ipc and uts namespaces.
# When it ends, the kernel kills every process of the node and drops its mounts, links, routes and nft rules.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
log=$KNODE_DIR/log; b=$KNODE_BIN; pki=$KNODE_DIR/pki; e=$KNODE_DIR/etc

mount --make-rshared /               # the kubelet wants a shared root, as systemd leaves it
mount -t tmpfs tmpfs /run            # sockets, netns handles, xtables.lock: none shared with the host
mount -t tmpfs tmpfs /var/log        # the kubelet always makes /var/log/containers,
mkdir -p /var/lib/kubelet /var/lib/cni
mount -t tmpfs tmpfs /var/lib/kubelet   # its device-plugins, wherever --root-dir is,
mount -t tmpfs tmpfs /var/lib/cni       # and libcni its results
hostname "$NODE_NAME"
# The kubelet insists on writing these; let it write to copies, not to the host's kernel.
mkdir /run/sysctl
for s in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  [ -e /proc/sys/$s ] || continue
  f=/run/sysctl/${s//\//.}; cat /proc/sys/$s > "$f"; mount --bind "$f" /proc/sys/$s
done

ip link set lo up
until ip link show eth0 >/dev/null 2>&1; do sleep .05; done   # up.sh moves it in
ip addr add "$NODE_IP/30" dev eth0
ip link set eth0 up
ip route add default via "$HOST_IP"
echo 1 > /proc/sys/net/ipv4/ip_forward
s=/proc/sys/net/bridge/bridge-nf-call-iptables; if [ -e $s ]; then echo 1 > $s; fi   # a pod reaching a pod of this node through a Service

# A daemon that ends is started again, as a service manager would; its log says so.
run() {
  local n=$1; shift
  ( while :; do
      rc=0; "$@" >> "$log/$n.log" 2>&1 || rc=$?
      echo "node: $n ended with $rc, again in 1 s" >> "$log/$n.log"; sleep 1
    done ) &
}
run containerd containerd --config "$e/containerd.toml"
run etcd "$b/etcd" --name=default --data-dir="$KNODE_DIR/etcd" --unsafe-no-fsync=true --log-level=warn \
  --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
  --listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 \
  --initial-cluster=default=http://127.0.0.1:2380
until curl -sf http://127.0.0.1:2379/health >/dev/null; do sleep .1; done
run kube-apiserver "$b/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 \
  --bind-address=0.0.0.0 --secure-port=6443 --advertise-address="$NODE_IP" \
  --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
  --client-ca-file="$pki/client-ca.crt" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
  --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" \
  --kubelet-certificate-authority="$pki/serving-ca.crt" --kubelet-preferred-address-types=InternalIP \
  --service-cluster-ip-range="$SERVICE_CIDR" --allow-privileged=true \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-key-file="$pki/sa-signer.crt" --service-account-signing-key-file="$pki/sa-signer.key" \
  --requestheader-client-ca-file="$pki/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy \
  --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
  --requestheader-extra-headers-prefix=X-Remote-Extra- \
  --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key"
until curl -sf --cacert "$pki/serving-ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" "https://$NODE_IP:6443/readyz" >/dev/null; do sleep .1; done
kc=$KNODE_DIR/admin.kubeconfig
# The client's default of 20 requests a second alone costs 5 s at the start: each controller fetches a token.
run kube-controller-manager "$b/kube-controller-manager" --kubeconfig=$kc --authentication-kubeconfig=$kc --authorization-kubeconfig=$kc \
  --bind-address=127.0.0.1 --leader-elect=false --use-service-account-credentials=true \
  --kube-api-qps=500 --kube-api-burst=1000 --flex-volume-plugin-dir="$KNODE_DIR/kubelet/volume-plugins" \
  --root-ca-file="$pki/serving-ca.crt" --service-account-private-key-file="$pki/sa-signer.key" \
  --cluster-signing-cert-file="$pki/client-ca.crt" --cluster-signing-key-file="$pki/client-ca.key"
run kube-scheduler "$b/kube-scheduler" --kubeconfig=$kc --authentication-kubeconfig=$kc --authorization-kubeconfig=$kc \
  --bind-address=127.0.0.1 --leader-elect=false
until [ -S /run/containerd/containerd.sock ]; do sleep .1; done
run kubelet "$b/kubelet" --config="$e/kubelet.yaml" --kubeconfig="$KNODE_DIR/kubelet.kubeconfig" \
  --root-dir="$KNODE_DIR/kubelet" --cert-dir="$KNODE_DIR/kubelet/pki" --hostname-override="$NODE_NAME" --node-ip="$NODE_IP"
run kube-proxy "$b/kube-proxy" --config="$e/kube-proxy.yaml"
[ ! -x "$b/coredns" ] || run coredns "$b/coredns" -conf "$e/Corefile"
# bash reaps whatever is orphaned; TERM ends the loop, and with it the node.
trap 'exit 0' TERM INT
while :; do sleep 3600 & wait $!; done
