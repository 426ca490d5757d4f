#!/bin/sh
# Lays out what wraps a commit as a container image: tree.sh PROGRAMS PAPERS TREE.
set -eu
programs=$1 papers=$2 tree=$3
source=$(dirname "$(readlink -f "$0")")/../..
doc=$tree/usr/share/doc/careen-image
install -D -m 755 "$programs/careen-image" "$tree/usr/bin/careen-image"
install -d "$doc" "$tree/usr/share/licenses/careen-image"
install -m 644 "$papers/sbom/careen-image.cdx.json" "$papers/licences/careen-image.txt" "$doc"
install -m 644 "$source/LICENSE" "$tree/usr/share/licenses/careen-image"
gzip -9n <"$source/CHANGELOG.md" >"$doc/changelog.gz"
install -D -m 644 "$papers/man/careen-image.1" "$tree/usr/share/man/man1/careen-image.1"
gzip -9n "$tree/usr/share/man/man1/careen-image.1"
install -D -m 644 "$papers/bash/careen-image.bash" "$tree/usr/share/bash-completion/completions/careen-image"
install -D -m 644 "$papers/zsh/_careen-image" "$tree/usr/share/zsh/site-functions/_careen-image"
install -D -m 644 "$papers/fish/careen-image.fish" "$tree/usr/share/fish/vendor_completions.d/careen-image.fish"
