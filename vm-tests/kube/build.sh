#!/bin/sh
# Builds one Go module beside this script (v1.35, v1.36, etcd, ...) into the cache and prints the program's path: build.sh MODULE [node|shim].
# With "node" what a node needs not is left out; "shim" is containerd's other program.
# The cache key is the module's content and the Go version: the same inputs never build twice.
set -eu
module=$1 only=${2:-}
cd "$(dirname "$0")/$module"
progress=../../../.ci/progress
cache=${CAREEN_CACHE:-$HOME/.cache/careen}
# A module without such a part is the same with and without "node".
grep -qs "go:build !${only:-none}$" ./*.go || only=
key=$({ cat go.mod go.sum ./*.go; go env GOVERSION; } | sha256sum | cut -c1-16)
out=$cache/kube-$module${only:+-$only}-$key/program
mkdir -p "$(dirname "$out")"
# Tests that start at once all want it: one builds, the others wait and find it.
exec 9>"$out.lock"
flock 9
if [ ! -x "$out" ]; then
  flags="-s -w"
  version=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" { print $3 }
                 $1 == "k8s.io/kubernetes" && $2 ~ /^v/ { print $2 }' go.mod | head -n 1)
  if [ -n "$version" ]; then
    minor=${version#v1.}
    minor=${minor%%.*}
    # Kubernetes keeps its version in link flags; without them every program says v0.0.0-master.
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version k8s.io/kubectl/pkg/version; do
      flags="$flags -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor"
      flags="$flags -X $package.gitTreeState=clean -X $package.buildDate=2026-01-01T00:00:00Z"
    done
  fi
  # A guess for an empty cache and 2 cores; with "node" most is compiled if the whole was built first.
  if [ -n "$version" ]; then expected=480; else expected=120; fi
  echo "building $module ${version:-}${only:+ ($only)} (about $expected s on 2 cores with nothing cached)" >&2
  # The compiler is a Go program too: with less garbage collection a build takes a sixth less of the processor.
  GOGC=800 CGO_ENABLED=0 $progress "kube $module${only:+ $only}" $expected go build -mod=readonly -trimpath -tags "$only" -ldflags "$flags" -o "$out.new" . >&2
  mv "$out.new" "$out"
fi
echo "$out"
