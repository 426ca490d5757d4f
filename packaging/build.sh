#!/bin/sh
# Builds the packages, .deb and .rpm: build.sh OUT-FOLDER. Nothing in them tells when, where or by
# whom it was done. CAREEN_PROGRAMS and CAREEN_PAPERS name folders with what programs.sh and
# papers.sh would make; CAREEN_VERSION a version.
set -eu
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")/.."

export LC_ALL=C.UTF-8 TZ=UTC
umask 022
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
version=${CAREEN_VERSION:-$(packaging/version.sh)}
# The programs know it: nodes that have two agents run the newer.
export CAREEN_VERSION="$version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=${CAREEN_PROGRAMS:-}
if [ -z "$programs" ]; then
  programs=$work/programs
  packaging/programs.sh "$programs"
fi
papers=${CAREEN_PAPERS:-}
if [ -z "$papers" ]; then
  papers=$work/papers
  packaging/papers.sh "$papers"
fi

for package in careen careen-image kubectl-careen; do
  tree=$work/$package
  packaging/$package/tree.sh "$programs" "$papers" "$tree"
  packaging/clear.sh $package "$out"
  find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  packaging/deb.sh $package "$tree" "$version" "$out"
  packaging/rpm.sh $package "$tree" "$version" "$out"
done
