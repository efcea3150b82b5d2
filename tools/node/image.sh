#!/usr/bin/env bash
# Makes image archives with tar and sha256sum alone, so that no registry is needed: image.sh FOLDER NODE NPM REDIS_SERVER
#   pause.tar   localhost/pause:1   busybox that sleeps (CRI kills a sandbox with SIGKILL, so it needs no handler)
#   base.tar    localhost/base:1    busybox and Node, a base for FROM
#   build.tar   localhost/build:1   the same with npm
#   redis.tar   localhost/redis:1   busybox, redis-server and redis-cli
# NODE: a node binary; NPM: folder of the package npm; REDIS_SERVER: that program, with redis-cli beside it. Needs busybox-static.
set -euo pipefail
out=$(realpath -m "${1:?folder}") node=$(readlink -f "${2:?node}") npm=${3:?folder of npm} redis=${4:?redis-server}
mkdir -p "$out"
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
case $(uname -m) in x86_64) arch=amd64;; aarch64) arch=arm64;; *) arch=$(uname -m);; esac

# oci_tar NAME ROOTFS CONFIG_JSON: one layer, reproducible. Without its history buildah --layers refuses it as a base.
oci_tar() {
  local name=$1 root=$2 conf=$3 d o; d=$(mktemp -d -p "$tmp"); mkdir -p "$d/blobs/sha256"
  o=${name##*/}; o=$out/${o%:*}.tar
  tar -C "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$d/layer" .
  local diff; diff=$(sha256sum < "$d/layer"); diff=${diff%% *}
  # put FILE: stores it as a blob and prints "digest size"
  put() { local h; h=$(sha256sum < "$1"); h=${h%% *}; mv "$1" "$d/blobs/sha256/$h"; echo "$h $(stat -c %s "$d/blobs/sha256/$h")"; }
  local lh ls ch cs mh ms
  read -r lh ls < <(put "$d/layer")
  printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"1970-01-01T00:00:00Z","created_by":"image.sh"}]}' "$arch" "$conf" "$diff" > "$d/config"
  read -r ch cs < <(put "$d/config")
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%d},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:%s","size":%d}]}' \
    "$ch" "$cs" "$lh" "$ls" > "$d/manifest"
  read -r mh ms < <(put "$d/manifest")
  printf '{"imageLayoutVersion":"1.0.0"}' > "$d/oci-layout"
  printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%d,"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}}]}' \
    "$mh" "$ms" "$name" "${name##*:}" > "$d/index.json"
  # Under its name only when complete.
  tar -C "$d" -cf "$o.tmp" oci-layout index.json blobs
  mv "$o.tmp" "$o"
}

# root NAME TARGET=PROGRAM…: a root file system with busybox, and programs in /usr/local/bin with the libraries they need
root() {
  local r=$tmp/$1 pair program library; shift
  mkdir -p "$r"/{bin,etc,tmp,usr/bin,usr/local/bin,root}; chmod 1777 "$r/tmp"
  cp "$(command -v busybox)" "$r/bin/busybox"
  # It is static: its applets that look names up (wget, nslookup) crash once other libraries are in reach.
  for a in sh ls cat sleep ps id mkdir ln rm cp; do ln -s busybox "$r/bin/$a"; done
  ln -s /bin/busybox "$r/usr/bin/env"
  printf 'root:x:0:0:root:/root:/bin/sh\n' > "$r/etc/passwd"
  printf 'root:x:0:\n' > "$r/etc/group"
  printf 'hosts: files dns\n' > "$r/etc/nsswitch.conf"
  for pair; do
    program=${pair#*=}
    cp -L "$program" "$r/usr/local/bin/${pair%%=*}"
    ldd "$program" | grep -o '/[^ ]*' | while read -r library; do mkdir -p "$r$(dirname "$library")"; cp -L "$library" "$r$library"; done
  done
  echo "$r"
}
env='"Env":["PATH=/usr/local/bin:/usr/bin:/bin"]'
cli=$(dirname "$redis")/redis-cli; [ -x "$cli" ] || cli=$(dirname "$redis")/valkey-cli

r=$(root pause); oci_tar localhost/pause:1 "$r" '{"Entrypoint":["/bin/busybox","sleep","2147483647"]}'
r=$(root base node="$node"); oci_tar localhost/base:1 "$r" "{$env}"
r=$(root redis redis-server="$redis" redis-cli="$cli"); oci_tar localhost/redis:1 "$r" "{$env}"
r=$(root build node="$node"); mkdir -p "$r/usr/local/lib/node_modules"; cp -r "$npm" "$r/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$r/usr/local/bin/npm"
oci_tar localhost/build:1 "$r" "{$env}"
