#!/bin/sh
# Builds one manager of Cluster API (core, bootstrap, control-plane or in-memory) of the module beside this script (v1.13, v1.14)
# into the cache, with its CRDs and webhook configurations beside it, and prints the folder: program, crd/*.yaml, webhook.yaml.
# The cache key is the module's content, this script and the Go version: the same inputs never build twice.
set -eu
version=$1
manager=$2
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/$version"
# The tool lines of go.mod name the packages; v1.13 keeps core's main package at the module's root, v1.14 in core/.
case $manager in
core) ends='cluster-api(/core)?' ;;
bootstrap) ends='bootstrap/kubeadm' ;;
control-plane) ends='controlplane/kubeadm' ;;
in-memory) ends='infrastructure/docker' ;;
*) echo "no manager is called $manager" >&2 && exit 2 ;;
esac
package=$(awk -v ends="$ends\$" 'NF == 1 && $0 ~ ends { print $1 }' go.mod)
cache=${CAREEN_CACHE:-$HOME/.cache/careen}
key=$({ cat go.mod go.sum "$here/build.sh"; go env GOVERSION; } | sha256sum | cut -c1-16)
out=$cache/cluster-api-$version-$key/$manager
if [ ! -x "$out/program" ]; then
  echo "building $package of $version (core about 3 minutes on 2 cores with nothing cached, the others less)" >&2
  mkdir -p "$(dirname "$out")"
  new=$(mktemp -d "$out.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  CGO_ENABLED=0 GOMAXPROCS=2 go build -mod=readonly -p 2 -trimpath -tags fieldsv1string -ldflags "-s -w" -o "$new/program" "$package" >&2
  config=$(go list -mod=readonly -f '{{.Dir}}' "$package")/config
  # The module cache is read-only; what is copied from it must be removable.
  cp -r --no-preserve=mode "$config/crd/bases" "$new/crd"
  cp --no-preserve=mode "$config/webhook/manifests.yaml" "$new/webhook.yaml"
  # Somebody else may have built the same meanwhile; theirs is as good.
  mv -T "$new" "$out" 2>/dev/null || [ -x "$out/program" ]
fi
echo "$out"
