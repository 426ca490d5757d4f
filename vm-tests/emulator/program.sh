#!/bin/sh
# Prints the path of qemu-system-x86_64 (10 or later): the host's, or that of Debian 13 unpacked into the cache, to run with its own libraries. It is
# not installed: Debian 12 has version 7.2, which needs a third more processor time for the same boot.
set -eu
new_enough() { qemu-system-x86_64 --version | awk 'NR == 1 { split($4, at, "."); exit !(at[1] >= 10) }'; }
if command -v qemu-system-x86_64 >/dev/null && new_enough; then
  command -v qemu-system-x86_64
  exit
fi
dir="${CAREEN_CACHE:-$HOME/.cache/careen}/tools/emulator"
mkdir -p "$(dirname "$dir")"
# Runs that start at once all want it: one fetches, the others wait and find it.
exec 9>"$dir.lock"
flock 9
if [ ! -x "$dir/qemu-system-x86_64" ]; then
  rm -rf "$dir" "$dir.new"
  mmdebstrap --quiet --variant=extract --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    --aptopt='APT::Install-Recommends "false"' --include=qemu-system-x86,seabios trixie "$dir.new" >&2
  cat >"$dir.new/qemu-system-x86_64" <<END
#!/bin/sh
libraries=\$(echo $dir/usr/lib/*-linux-gnu)
export QEMU_MODULE_DIR=\$libraries/qemu
exec \$libraries/ld-linux*.so.* --library-path "\$libraries" $dir/usr/bin/qemu-system-x86_64 -L $dir/usr/share/qemu -L $dir/usr/share/seabios "\$@"
END
  chmod +x "$dir.new/qemu-system-x86_64"
  mv "$dir.new" "$dir"
fi
echo "$dir/qemu-system-x86_64"
