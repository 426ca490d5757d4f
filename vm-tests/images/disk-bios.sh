#!/bin/sh
# Puts GRUB for BIOS on a disk: disk-bios.sh LOADERS BOOT DISK PREFIX "MODULES". The BIOS boot partition begins at 1 MiB.
# Does what grub-bios-setup does, without its probing, which wants devices that a loop device over a part is not.
set -eu
loaders=$1 boot=$2 disk=$3 prefix=$4 modules=$5
images=$loaders/usr/lib/grub/i386-pc
work=$(mktemp -d "$loaders/tmp/grub.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir -p "$boot/grub/i386-pc"
cp "$images"/*.mod "$images"/*.lst "$boot/grub/i386-pc/"
# shellcheck disable=SC2086 # a list of words
chroot "$loaders" grub-mkimage -O i386-pc -p "$prefix" -o "${work#"$loaders"}/core.img" $modules
cp "$images/boot.img" "$work/boot.img"

start=2048
sectors=$((($(stat -c %s "$work/core.img") + 511) / 512))
# Writes a little-endian number: number FILE OFFSET BYTES VALUE.
number() {
  value=$4 bytes=
  for _ in $(seq "$3"); do bytes="$bytes\\$(printf %03o $((value % 256)))" value=$((value / 256)); done
  printf "$bytes" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# GRUB's boot.S keeps the first sector of core.img at 0x5c; diskboot.S the list of its further blocks (start, count, segment) at 0x1f4.
number "$work/boot.img" 92 8 $start
number "$work/core.img" 500 8 $((start + 1))
number "$work/core.img" 508 2 $((sectors - 1))
number "$work/core.img" 510 2 $((0x820))
dd if="$work/boot.img" of="$disk" bs=440 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$disk" bs=512 seek=$start conv=notrunc status=none
