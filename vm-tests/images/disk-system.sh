#!/bin/sh
# Installs one commit on a mounted target: disk-system.sh REPO REF READY TARGET ROOT-UUID CAREEN-GRUB KIND.
# READY is a commit whose objects lie in its repository besides, held by the ref rig/ready.
set -eu
repo=$1 ref=$2 ready=$3 target=$4 root_uuid=$5 grub=$6 kind=$7

ostree admin init-fs --modern "$target"
ostree admin os-init --sysroot="$target" debian
sysroot() { ostree --repo="$target/ostree/repo" "$@"; }
sysroot config set sysroot.bootloader grub2
sysroot config set sysroot.readonly true
# The real /boot is a file system of its own, so entries name paths below it.
sysroot config set sysroot.bootprefix false
sysroot pull-local --remote=careen "$repo" "$ref"
sysroot pull-local "$repo" "$ready"
sysroot refs --create=rig/ready "$ready"

mkdir -p "$target/boot/grub"
ln -s ../loader/grub.cfg "$target/boot/grub/grub.cfg"
# As grub-editenv makes it: exactly 1024 bytes, written in place ever after.
printf '# GRUB Environment Block\n%0999d' 0 | tr 0 '#' >"$target/boot/grub/grubenv"
# lsm= is Debian's list without bpf: systemd would parse the kernel's type information for it, 6.5 s of every emulated boot.
# mitigations=off: an emulated processor speculates nothing, and retpolines cost it dearly; ahci: the board has one, with nothing at it.
OSTREE_GRUB2_EXEC=$grub ostree admin deploy --sysroot="$target" --os=debian \
  --karg=console=ttyS0 --karg=rw --karg="root=UUID=$root_uuid" --karg=lsm=landlock,lockdown,yama,integrity,apparmor \
  --karg=mitigations=off --karg=module_blacklist=ahci "careen:$ref"

# What an installer knows and an image cannot: where /boot is.
etc=$(echo "$target"/ostree/deploy/debian/deploy/*.0/etc)
{
  # An emulated processor that others take time from needs more than systemd's 90 s to find its disk; a boot without /boot has failed.
  echo 'LABEL=boot /boot ext4 defaults,x-systemd.device-timeout=300 0 0'
  if [ "$kind" = uefi ]; then echo 'LABEL=ESP /boot/efi vfat umask=0077,nofail 0 0'; fi
} >"$etc/fstab"
