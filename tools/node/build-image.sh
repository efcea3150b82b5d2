#!/usr/bin/env bash
# Builds a Dockerfile without docker and writes an archive for load.sh: build-image.sh NAME:TAG CONTEXT OUT.tar [buildah bud option…]
# BASES="base.tar …": archives that the Dockerfile's FROM lines name; no image registry is asked. As root.
# NPM_HOME: folder with a file npmrc and what it names under /npm, for RUN npm ci. NPM_CACHE: npm's cache.
set -euo pipefail
# Mounts of its own, so that a build that fails leaves none.
[ "${IN_MNT:-}" ] || IN_MNT=1 exec unshare --mount -- "$0" "$@"
: "${KNODE_CACHE:?folder for what the next run can use again}"
name=$1 context=$2 out=$(realpath -m "$3"); shift 3
b() { buildah --root "$KNODE_CACHE/buildah" --runroot "$KNODE_CACHE/buildah-run" --storage-driver overlay "$@"; }
mkdir -p "$KNODE_CACHE/buildah" "$(dirname "$out")"
# Layers of past builds pile up; a build that starts from bases can do without them.
if [ -n "${BASES:-}" ] && [ "$(du -sm "$KNODE_CACHE/buildah" | cut -f1)" -gt 4096 ]; then rm -rf "$KNODE_CACHE"/buildah*; mkdir -p "$KNODE_CACHE/buildah"; fi
for t in ${BASES:-}; do b pull --quiet "oci-archive:$t" >/dev/null; done
mounts=()
home=/root   # of RUN's user in the image
[ -z "${NPM_CACHE:-}" ] || mounts+=(--volume "$NPM_CACHE:$home/.npm")
[ -z "${NPM_HOME:-}" ] || mounts+=(--volume "$NPM_HOME:/npm:ro" --volume "$NPM_HOME/npmrc:$home/.npmrc:ro")
# chroot: RUN needs no runtime, cgroup or bridge and has the host's network. (oci works too, but leaves the bridge cni-podman0.)
b bud --isolation chroot --pull=never --layers --format oci --timestamp 0 -t "$name" "${mounts[@]}" "$@" "$context"
rm -f "$out"
# docker-archive: its layers are not compressed, which an import on the same machine repays (oci-archive always gzips).
b push --quiet "$name" "docker-archive:$out:$name"
