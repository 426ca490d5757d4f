#!/bin/sh
# Lays out what Containerfile builds from: context.sh OUT-FOLDER. CAREEN_PROGRAMS names a folder with what programs.sh would make;
# CAREEN_VERSION a version.
set -eu
out=$1
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=${CAREEN_PROGRAMS:-}
if [ -z "$programs" ]; then
  programs=$work/programs
  # Nodes that have two agents run the newer, so this one must know what it is.
  CAREEN_VERSION=${CAREEN_VERSION:-$("$here/../version.sh")}
  export CAREEN_VERSION
  "$here/../programs.sh" "$programs"
fi
mkdir -p "$out/careen"
install -m 755 "$programs/careen-installer" "$out/careen-installer"
for program in careen-agent careen-deploy careen-grub careen-stage; do
  install -m 755 "$programs/$program" "$out/careen/$program"
done
cd "$out/careen"
# The agent knows its own version: a file that says another one would make the newest run nowhere.
./careen-agent --version | cut -d' ' -f2 >VERSION
sha256sum careen-agent careen-deploy careen-grub careen-stage >SHA256SUMS
