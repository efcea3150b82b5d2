#!/usr/bin/env bash
# Imports image archives (OCI or docker) into the running node: load.sh FILE…
set -euo pipefail
. "$(dirname "$0")/lib.sh"
for f; do ctr_ images import --snapshotter "$(snapshotter)" "$(realpath "$f")"; done
