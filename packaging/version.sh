#!/bin/sh
# Prints the version of what is built from this tree: Cargo's when the commit is tagged with it.
# Before that the commit's time and name behind a `~`, which sorts before the release. It fails
# where there is no commit to name, as in an archive of the sources: then say CAREEN_VERSION.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
export TZ=UTC
cargo=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
if git describe --exact-match --match "v$cargo" HEAD >/dev/null 2>&1; then
  echo "$cargo"
else
  commit=$(git log -1 --abbrev=12 --date=format-local:%Y%m%d%H%M --format=%cd.%h)
  echo "$cargo~$commit$(git diff --quiet HEAD || echo .dirty)"
fi
