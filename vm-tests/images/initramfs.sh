#!/bin/sh
# Adds an initramfs to an overlay of a tree: initramfs.sh TREE OVERLAY-DIRECTORY [dracut options].
# dracut runs inside the tree with the overlay on top, so that a module in the overlay is found and only the result is new.
set -eu
if [ "${IN_NAMESPACE:-}" != yes ]; then
  IN_NAMESPACE=yes exec unshare --mount --propagation private "$0" "$@"
fi
tree=$(readlink -f "$1") overlay=$(readlink -f "$2")
shift 2
modules="systemd-initrd dracut-systemd base fs-lib rootfs-block udev-rules kernel-modules ostree"
if [ -d "$overlay/usr/lib/dracut/modules.d/55careen" ]; then modules="$modules careen"; fi
# Not made for this one machine (--no-hostonly), but for virtual and plain SATA/NVMe ones alone: it is unpacked at every boot.
drivers="virtio_blk virtio_pci virtio_scsi virtio_console sd_mod ahci ext4 overlay i6300esb"
for driver in ${OMIT_DRIVERS:-}; do drivers=$(printf '%s' " $drivers " | sed "s/ $driver / /"); done

work=$(mktemp -d "$overlay.XXXXXX")
trap 'umount -R "$work/root" || :; rm -rf "$work"' EXIT
mkdir "$work/root" "$work/work"
mount -t overlay overlay -o "lowerdir=$tree,upperdir=$overlay,workdir=$work/work" "$work/root"
cd "$work/root"
mkdir -p etc
mount --bind usr/etc etc
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs var
mount --rbind /dev dev
mkdir var/tmp var/roothome
kernel=$(ls usr/lib/modules)
chroot . dracut --force --quiet --no-hostonly --reproducible --zstd --kver "$kernel" --modules "$modules" --no-hostonly-cmdline \
  --drivers "$drivers" --filesystems "ext4 overlay" --tmpdir /tmp "$@" "/usr/lib/modules/$kernel/initramfs.img"
cd /
umount -R "$work/root/etc"
rmdir "$work/root/etc"
