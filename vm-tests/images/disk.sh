#!/bin/sh
# Makes a disk with one deployment: disk.sh bios|uefi|lvm|no-verity REPO REF READY LOADERS CAREEN-GRUB OUT.RAW. Needs root and loops.
# LOADERS is the bootstrapped root: GRUB's modules and tools in it are the guest's own version.
set -eu
kind=$1 repo=$2 ref=$3 ready=$4 loaders=$5 grub=$(readlink -f "$6") out=$7
here=$(dirname "$(readlink -f "$0")")
mib=1048576

rm -f "$out" "$out.new"
truncate -s 8G "$out.new"
case $kind in
  uefi) first='U' first_mib=63 ;;
  *) first='21686148-6449-6E6F-744E-656564454649' first_mib=1 ;;
esac
case $kind in lvm) boot_type=V boot_mib=516 ;; *) boot_type=L boot_mib=512 ;; esac
printf 'label: gpt\nstart=1MiB,size=%sMiB,type=%s\nsize=%sMiB,type=%s,name=boot\ntype=L,name=root\n' \
  $first_mib $first $boot_mib $boot_type | sfdisk -q "$out.new"
boot_at=$((1 + first_mib)) root_at=$((1 + first_mib + boot_mib))

target=$(mktemp -d)
loops=
trap 'umount -qR "$target" || :; for loop in $loops; do losetup -d "$loop"; done; rmdir "$target"' EXIT
# Prints a loop device over a part of the disk. A device per part, since not every kernel reads partition tables: part MIB [SIZE].
part() { losetup --find --show --offset "$(($1 * mib))" ${2:+--sizelimit "$(($2 * mib))"} "$out.new"; }
root=$(part $root_at $((8192 - root_at - 1))) && loops=$root
if [ "$kind" = lvm ]; then boot_at=$("$here/disk-lvm.sh" "$out.new" $boot_at $boot_mib); fi
boot=$(part "$boot_at" 512) && loops="$loops $boot"
case $kind in no-verity) verity=^verity ;; *) verity=verity ;; esac
mkfs.ext4 -q -O $verity -L root "$root"
mkfs.ext4 -q -L boot "$boot"
mount "$root" "$target"
mkdir "$target/boot"
mount "$boot" "$target/boot"

"$here/disk-system.sh" "$repo" "$ref" "$ready" "$target" "$(blkid -o value -s UUID "$root")" "$grub" "$kind"
case $kind in
  uefi)
    esp=$(part 1 $first_mib) && loops="$loops $esp"
    "$here/disk-uefi.sh" "$loaders" "$esp" "$(blkid -o value -s UUID "$boot")" ;;
  bios | no-verity) "$here/disk-bios.sh" "$loaders" "$target/boot" "$out.new" '(,gpt2)/grub' 'biosdisk part_gpt ext2 normal' ;;
  lvm) "$here/disk-bios.sh" "$loaders" "$target/boot" "$out.new" '(lvm/rig-boot)/grub' 'biosdisk part_gpt lvm ext2 normal' ;;
esac
sync -f "$target"
umount -R "$target"
mv "$out.new" "$out"
