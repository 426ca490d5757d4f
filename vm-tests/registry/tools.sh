#!/bin/sh
# Prints the folder of skopeo (1.13 or later) and docker-registry: the host's, or those of Debian 13 unpacked into the cache, to run with their own
# libraries. They are not installed: Debian 12's skopeo is too old, and the package of the registry would start a server on this host.
set -eu
new_enough() { skopeo --version | awk '{ split($3, at, "."); exit !(at[1] > 1 || at[2] >= 13) }'; }
if command -v docker-registry >/dev/null && command -v skopeo >/dev/null && new_enough; then
  dirname "$(command -v skopeo)"
  exit
fi
dir="${CAREEN_CACHE:-$HOME/.cache/careen}/tools/registry"
mkdir -p "$(dirname "$dir")"
# Tests that start at once all want it: one fetches, the others wait and find it.
exec 9>"$dir.lock"
flock 9
if [ ! -x "$dir/skopeo" ]; then
  rm -rf "$dir" "$dir.new"
  mmdebstrap --quiet --variant=extract --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    --aptopt='APT::Install-Recommends "false"' --include=skopeo,docker-registry trixie "$dir.new" >&2
  for program in skopeo docker-registry; do
    cat >"$dir.new/$program" <<END
#!/bin/sh
libraries=\$(echo $dir/usr/lib/*-linux-gnu)
exec \$libraries/ld-linux*.so.* --library-path "\$libraries" $dir/usr/bin/$program "\$@"
END
    chmod +x "$dir.new/$program"
  done
  mv "$dir.new" "$dir"
fi
echo "$dir"
