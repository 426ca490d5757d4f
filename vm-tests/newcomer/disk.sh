# shellcheck shell=bash
# What the rig does in the place of what docs/install.md says of a machine's own disk. Read by rig.sh.

# The machine's disk, and the page's folder as nobody has it yet: empty_disk NAME.
empty_disk() {
  sda=$HOME/$1.raw
  truncate -s 8G "$sda"
  [ ! -d target ] || rmdir target
}
# Prints a loop device over a partition of the disk: not every kernel finds them in one over all of it.
partition() {
  local part
  part=$(sfdisk --json "$sda" | jq -r ".partitiontable.partitions[$1 - 1] | \"-o \(.start * 512) --sizelimit \(.size * 512)\"")
  # shellcheck disable=SC2086 # options
  losetup --find --show $part "$sda"
}
partitions() {
  sda1=$(partition 1) sda2=$(partition 2) sda3=$(partition 3)
  loops="$loops $sda1 $sda2 $sda3"
}
# GRUB 2.12 of Debian 13, without the probing, which wants a disk that the kernel knows.
grub-install() { "$RIG/images/disk-bios.sh" "$RIG_DEBIAN" target/boot "$sda" '(,gpt2)/grub' 'biosdisk part_gpt ext2 normal'; }
# Not every kernel has vfat. mtools copies the ESP's folder into it at the end.
mount() { [ "$1" = "${sda1-}" ] || command mount "$@"; }
umount() {
  if [ -d target/boot/efi/EFI ]; then
    mcopy -s -i "$sda1" target/boot/efi/EFI ::
    rm -r target/boot/efi/EFI
  fi
  command umount "$@"
}
# Debian 13's, as above: grub-mkimage -O FORMAT -p PREFIX -o FILE MODULE...
grub-mkimage() {
  local made
  made=$(mktemp -d "$RIG_DEBIAN/tmp/grub.XXXXXX")
  chroot "$RIG_DEBIAN" grub-mkimage "${@:1:5}" "${made#"$RIG_DEBIAN"}/made" "${@:7}"
  mv "$made/made" "$6"
  rmdir "$made"
}
