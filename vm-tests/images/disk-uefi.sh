#!/bin/sh
# Fills the EFI system partition: disk-uefi.sh LOADERS ESP-DEVICE BOOT-UUID.
# Its grub.cfg never changes: it names the configuration that libostree swaps by renaming, so EFI boots as safely as BIOS.
set -eu
loaders=$1 esp=$2 boot_uuid=$3
work=$(mktemp -d "$loaders/tmp/grub.XXXXXX")
trap 'rm -rf "$work"' EXIT

cat >"$work/grub.cfg" <<CFG
search --no-floppy --fs-uuid --set=root $boot_uuid
set prefix=(\$root)/grub
configfile (\$root)/loader/grub.cfg
CFG
chroot "$loaders" grub-mkimage -O x86_64-efi -p /EFI/debian -o "${work#"$loaders"}/grub.efi" \
  part_gpt fat ext2 normal configfile search search_fs_uuid loadenv linux test echo reboot sleep minicmd all_video serial
# In a file first: mtools and mkfs ask a device for a geometry that a loop device has not.
mkfs.vfat -n ESP -C "$work/esp" $(($(blockdev --getsize64 "$esp") / 1024)) >/dev/null
mmd -i "$work/esp" ::/EFI ::/EFI/BOOT ::/EFI/debian
mcopy -i "$work/esp" "$work/grub.efi" ::/EFI/BOOT/BOOTX64.EFI
mcopy -i "$work/esp" "$work/grub.cfg" ::/EFI/debian/grub.cfg
dd if="$work/esp" of="$esp" bs=1M status=none
