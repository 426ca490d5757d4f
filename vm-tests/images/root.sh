#!/bin/sh
# Bootstraps the Debian root that every image is made from: root.sh OUT-DIRECTORY.
# Both kernels and both loaders are inside; tree.sh picks. Needs root, writes nothing elsewhere.
set -eu
out=$1
here=$(dirname "$0")
# The mirror that this machine itself is fed from.
ours=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "Debian" { print $2; exit }')
mirror=${CAREEN_DEBIAN_MIRROR:-$ours}
packages=$(grep -v '^#' "$here/packages.txt" | tr -s ' \n' ',,' | sed 's/^,//; s/,$//')
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

rm -rf "$out.new" "$out"
# INITRD=No: dracut's kernel hook would build an initramfs that nobody uses.
INITRD=No mmdebstrap --mode=root --variant=minbase --format=directory --keyring="$keyring" \
  --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --include="$packages" trixie "$out.new" "deb $mirror trixie main"
mv "$out.new" "$out"
