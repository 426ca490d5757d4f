#!/bin/sh
# Lays out what Containerfile builds from: context.sh OUT-FOLDER. CAREEN_PROGRAMS and CAREEN_PAPERS
# name folders with what programs.sh and papers.sh would make; CAREEN_VERSION a version. With
# CAREEN_PROGRAMS alone there are no papers, and Containerfile refuses the context.
set -eu
out=$1
packaging=$(dirname "$(readlink -f "$0")")/..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=${CAREEN_PROGRAMS:-} papers=${CAREEN_PAPERS:-}
if [ -z "$programs" ]; then
  programs=$work/programs
  # Nodes that have two agents run the newer, so this one must know what it is.
  CAREEN_VERSION=${CAREEN_VERSION:-$("$packaging/version.sh")}
  export CAREEN_VERSION
  "$packaging/programs.sh" "$programs"
  if [ -z "$papers" ]; then
    papers=$work/papers
    "$packaging/papers.sh" "$papers"
  fi
fi
mkdir -p "$out/careen"
install -m 755 "$programs/careen-installer" "$out/careen-installer"
for program in careen-agent careen-control careen-deploy careen-grub careen-stage; do
  install -m 755 "$programs/$program" "$out/careen/$program"
done
if [ -n "$papers" ]; then
  install -D -m 644 -t "$out/doc" "$packaging/../LICENSE"
  # careen-grub is in careen-stage's.
  for program in careen-agent careen-control careen-deploy careen-installer careen-stage; do
    install -m 644 -t "$out/doc" "$papers/sbom/$program.cdx.json" "$papers/licences/$program.txt"
  done
fi
cd "$out/careen"
# The agent knows its own version: a file that says another one would make the newest run nowhere.
./careen-agent --version | cut -d' ' -f2 >VERSION
sha256sum careen-agent careen-control careen-deploy careen-grub careen-stage >SHA256SUMS
