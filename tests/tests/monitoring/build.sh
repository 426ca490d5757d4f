#!/bin/sh
# Builds the programs that the go.mod in a folder beside this one names as its tools into the cache, and prints their folder.
# The cache key is the module's content and the Go version: the same inputs never build twice.
#   build.sh prometheus|kube-rbac-proxy
set -eu
cd "$(dirname "$0")/$1"
key=$({ cat go.mod go.sum; go env GOVERSION; } | sha256sum | cut -c1-16)
out=${CAREEN_CACHE:-$HOME/.cache/careen}/$1-$key
mkdir -p "$out"
# Tests that start at once all want it: one builds, the others wait and find it.
exec 9>"$out/lock"
flock 9
if [ ! -d "$out/bin" ]; then
  echo "building $1 (some minutes on 2 cores with nothing cached)" >&2
  rm -rf "$out/new"
  # Of Prometheus' service discoveries that of Kubernetes alone.
  CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w" -tags remove_all_sd,enable_kubernetes_sd -o "$out/new/" tool >&2
  mv "$out/new" "$out/bin"
fi
echo "$out/bin"
