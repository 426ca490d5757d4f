#!/bin/sh
# Lays out the kubectl plugin: tree.sh PROGRAMS PAPERS TREE.
set -eu
programs=$1 papers=$2 tree=$3
source=$(dirname "$(readlink -f "$0")")/../..
doc=$tree/usr/share/doc/kubectl-careen
install -D -m 755 "$programs/kubectl-careen" "$tree/usr/bin/kubectl-careen"
install -m 755 "$source/packaging/kubectl-careen/kubectl_complete-careen" "$tree/usr/bin"
install -d "$doc" "$tree/usr/share/licenses/kubectl-careen"
install -m 644 "$papers/sbom/kubectl-careen.cdx.json" "$papers/licences/kubectl-careen.txt" "$source/packaging/kubectl/clusterroles.yaml" "$doc"
install -m 644 "$source/LICENSE" "$tree/usr/share/licenses/kubectl-careen"
gzip -9n <"$source/CHANGELOG.md" >"$doc/changelog.gz"
install -d "$tree/usr/share/man/man1"
install -m 644 "$papers"/man/kubectl-careen* "$tree/usr/share/man/man1"
gzip -9n "$tree"/usr/share/man/man1/*
