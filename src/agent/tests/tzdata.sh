#!/bin/sh
# Prints the folder of the time zone database: the host's, or that of Debian 13's tzdata unpacked
# into the cache.
set -eu
host=/usr/share/zoneinfo
if [ -e "$host/Europe/Berlin" ]; then
  echo "$host"
  exit
fi
dir="${CAREEN_CACHE:-$HOME/.cache/careen}/tools/tzdata"
mkdir -p "$(dirname "$dir")"
# Tests that start at once all want it: one fetches, the others wait and find it.
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir$host/Europe/Berlin" ]; then
  rm -rf "$dir" "$dir.new"
  mmdebstrap --quiet --variant=extract --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    --aptopt='APT::Install-Recommends "false"' --include=tzdata trixie "$dir.new" >&2
  mv "$dir.new" "$dir"
fi
echo "$dir$host"
