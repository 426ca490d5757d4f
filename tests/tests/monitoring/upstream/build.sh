#!/bin/sh
# Builds upstream's prometheus and promtool, of the service discoveries that of Kubernetes alone, into the cache and prints their folder.
# The cache key is the module's content and the Go version: the same inputs never build twice.
set -eu
cd "$(dirname "$0")"
key=$({ cat go.mod go.sum; go env GOVERSION; } | sha256sum | cut -c1-16)
out=${CAREEN_CACHE:-$HOME/.cache/careen}/prometheus-$key
mkdir -p "$out"
# Tests that start at once all want it: one builds, the others wait and find it.
exec 9>"$out/lock"
flock 9
if [ ! -x "$out/bin/promtool" ]; then
  echo "building Prometheus (some minutes on 2 cores with nothing cached)" >&2
  rm -rf "$out/new"
  mkdir "$out/new"
  CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w" -tags remove_all_sd,enable_kubernetes_sd -o "$out/new" \
    github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool >&2
  mv "$out/new" "$out/bin"
fi
echo "$out/bin"
