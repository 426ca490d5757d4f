#!/bin/bash
# Builds the Careen of the commit in `commit`, and images with it by the recipes of today; prints what each is asked for by:
#   vm-tests/aged/build.sh [IMAGE...]
# (It is one of the first with today's list of critical files. Older ones, that of `make old-record` among them, lack a unit without which no image is taken
# today, or have a guard that refuses the lists of today: the node comes back with `StageRefused`.)
# What was built before stays in the cache. A clone without the old commit (a shallow one) has to be made whole first.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=$(cat vm-tests/aged/commit)
git cat-file -e "$commit^{commit}" || { echo "aged: this clone lacks commit $commit; git fetch --unshallow brings it" >&2 && exit 1; }
cache=${CAREEN_CACHE:-$HOME/.cache/careen}
aged=$cache/aged/$commit
exec 3>&1 >&2

# Not --locked: an old list may lack a line of its own tests, and all versions in it hold all the same.
if [ ! -d "$aged/programs" ]; then
  echo "  Careen of $(git log -1 --format='%h, %cs' "$commit") (some ten minutes) ..."
  rm -rf "$aged/tree" "$aged/new"
  mkdir -p "$aged/tree" "$aged/new"
  git archive "$commit" | tar -x -C "$aged/tree"
  (
    cd "$aged/tree"
    export CARGO_TARGET_DIR=$aged/target RUSTFLAGS=
    cargo build --quiet --profile image -p careen-agent -p careen-deploy
    RUSTFLAGS='-C target-feature=+crt-static' cargo build --quiet --profile image -p careen-stage --target x86_64-unknown-linux-gnu
  )
  cp "$aged"/target/image/careen-{agent,deploy} "$aged"/target/x86_64-unknown-linux-gnu/image/careen-{grub,stage} "$aged/new"
  # The rig's recipes are those of today, whichever clone this is.
  rm -rf "$aged/tree/vm-tests" "$aged/target"
  mv "$aged/new" "$aged/programs"
fi
ln -sfnT "$PWD/vm-tests" "$aged/tree/vm-tests"
[ $# -gt 0 ] || exit 0

cargo build --quiet -p vm-tests --bin images
images=${CARGO_TARGET_DIR:-$cache/target}/debug/images
CAREEN_PROGRAMS=$aged/programs CARGO_MANIFEST_DIR=$aged/tree/vm-tests "$images" "$@" >&3
# The names in the repository lead to those of today again.
"$images" "$@"
