#!/bin/sh
# Prints the folder of prometheus and promtool: the host's, or Debian's package unpacked into the cache. The script does not install it: that would
# start a server on this host, and bring fonts and scripts for a page that nobody looks at here.
set -eu
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  dirname "$(command -v promtool)"
  exit
fi
dir="${CAREEN_CACHE:-$HOME/.cache/careen}/tools/prometheus"
mkdir -p "$(dirname "$dir")"
# Tests that start at once all want it: one fetches, the others wait and find it.
exec 9>"$dir.lock"
flock 9
if [ ! -x "$dir/usr/bin/promtool" ]; then
  rm -rf "$dir.new"
  mkdir "$dir.new"
  cd "$dir.new"
  # A machine that installed nothing lately may have no lists, or lists of packages that are no longer there.
  apt-get download -q prometheus >&2 || { apt-get update -q >&2 && apt-get download -q prometheus >&2; }
  dpkg-deb -x prometheus_*.deb .
  rm -rf "$dir"
  mv "$dir.new" "$dir"
fi
echo "$dir/usr/bin"
