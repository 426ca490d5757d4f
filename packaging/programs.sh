#!/bin/sh
# Compiles what goes into packages, to the same bytes wherever it is done: programs.sh OUT-FOLDER.
# CAREEN_VERSION names another version than version.sh does. No path of this machine stays in them.
# Other flags than the rig's would compile all of the rig's libraries again, so this has its own
# target folder.
set -eu
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")/.."
export CARGO_TARGET_DIR="${CAREEN_PACKAGES_TARGET:-${CAREEN_CACHE:-$HOME/.cache/careen}/packages-target}"
export CARGO_INCREMENTAL=0
# Nodes that have two agents run the newer, so each must know what it is: without this it would say
# the release that it only leads to.
CAREEN_VERSION=${CAREEN_VERSION:-$(packaging/version.sh)}
export CAREEN_VERSION
static=x86_64-unknown-linux-gnu

cargo fetch --quiet --locked
# Flags for rustc, parted by the one character that cargo wants there and no path contains; and for
# the C in our libraries.
part=$(printf '\037')
flags="--remap-path-prefix=$PWD=/careen${part}--remap-path-prefix=$CARGO_TARGET_DIR=/target"
CFLAGS=
# The folders of the registries are named after the mirror that one uses.
for crates in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
  flags="$flags${part}--remap-path-prefix=$crates=/crates"
  CFLAGS="$CFLAGS -ffile-prefix-map=$crates=/crates"
done
export CFLAGS

build() { CARGO_ENCODED_RUSTFLAGS=$flags cargo build --quiet --locked "$@"; }
# Apart: built together, each would get the features that the other wants of a library.
build --profile image -p careen-agent -p careen-control -p careen-deploy
build --profile image -p kubectl-careen
build --profile image -p careen-image
flags="$flags${part}-Ctarget-feature=+crt-static"
build --profile stage --target $static -p careen-stage
# It runs in a container whatever that is made of.
build --profile stage --target $static -p careen-installer

find "$CARGO_TARGET_DIR/image" "$CARGO_TARGET_DIR/$static/stage" -maxdepth 1 -type f -executable -exec cp -t "$out" {} +
