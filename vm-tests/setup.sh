#!/bin/sh
# Installs what the rig and the builds need from Debian 12 or 13, and the packages that it is called with. Says what it does; does nothing, at once, when all is there. Needs root.
# Rust and Go are not among it: the versions must be those of rust-toolchain.toml and of kube/*/go.mod, newer than Debian's.
set -eu
packages="
  build-essential pkg-config libostree-dev libssl-dev libzstd-dev
  qemu-system-x86 qemu-utils ovmf
  mmdebstrap debian-archive-keyring ostree gnupg
  fdisk e2fsprogs dosfstools mtools lvm2 util-linux iproute2
  ca-certificates openssl git make jq dbus-daemon grub-common $*"
missing=
for package in $packages; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
  if [ "$state" != installed ]; then missing="$missing $package"; fi
done
if [ -z "$missing" ]; then
  echo "host packages: all there"
  exit 0
fi
if [ "$(id -u)" != 0 ]; then
  echo "setup: missing packages:$missing; run this as root, or install them" >&2
  exit 1
fi

. /etc/os-release
install() { DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; }
echo "host packages: installing$missing"
apt-get update -q
# shellcheck disable=SC2086 # a list of words
if ! install $missing; then
  # A qemu-utils from backports keeps Debian's own qemu-system-x86 out ("Breaks").
  echo "host packages: once more, from $VERSION_CODENAME-backports"
  mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "Debian" { print $2; exit }')
  echo "deb $mirror $VERSION_CODENAME-backports main" >/etc/apt/sources.list.d/careen-backports.list
  apt-get update -q
  # shellcheck disable=SC2086
  install -t "$VERSION_CODENAME-backports" $missing
fi
