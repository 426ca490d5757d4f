#!/bin/sh
# Lays out what Containerfile builds from: context.sh PROGRAM OUT-FOLDER; Containerfile says how the
# program is built. CAREEN_PAPERS names a folder with what papers.sh would make.
set -eu
program=$1 out=$2
packaging=$(dirname "$(readlink -f "$0")")/..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
papers=${CAREEN_PAPERS:-}
if [ -z "$papers" ]; then
  papers=$work/papers
  "$packaging/papers.sh" "$papers"
fi
install -d "$out/doc"
install -m 755 "$program" "$out/careen-provider"
install -m 644 "$packaging/../LICENSE" "$papers/sbom/careen-provider.cdx.json" "$papers/licences/careen-provider.txt" "$out/doc"
