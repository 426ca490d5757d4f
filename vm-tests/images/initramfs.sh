#!/bin/sh
# Makes the initramfs of a tree: initramfs.sh TREE EXTRA OUT-FILE. EXTRA is a folder laid over the tree, with the module 55careen in it or not.
# dracut runs inside both; the tree stays as it is. OMIT_DRIVERS names drivers to leave out, for images that cannot find their root.
set -eu
if [ "${IN_NAMESPACE:-}" != yes ]; then
  IN_NAMESPACE=yes exec unshare --mount --propagation private "$0" "$@"
fi
tree=$(readlink -f "$1") extra=$(readlink -f "$2") out=$(readlink -f "$3")
modules="systemd-initrd dracut-systemd base fs-lib rootfs-block udev-rules kernel-modules ostree"
if [ -e "$extra/usr/lib/dracut/modules.d/55careen/module-setup.sh" ]; then modules="$modules careen"; fi
# Not made for this one machine (--no-hostonly), but for virtual and plain SATA ones alone: it is unpacked at every boot.
drivers=" virtio_blk virtio_pci virtio_scsi virtio_console sd_mod ahci ext4 overlay i6300esb "
for driver in ${OMIT_DRIVERS:-}; do drivers=$(printf %s "$drivers" | sed "s/ $driver / /"); done

work=$(mktemp -d "$out.XXXXXX")
# Lazily: the mounts go with the namespace, only the folder must be free.
trap 'umount -R -l "$work"; rmdir "$work"' EXIT
mount -t tmpfs tmpfs "$work"
mkdir "$work/root" "$work/upper" "$work/overlay"
mount -t overlay overlay -o "lowerdir=$extra:$tree,upperdir=$work/upper,workdir=$work/overlay" "$work/root"
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
chroot . dracut --force --quiet --no-hostonly --no-hostonly-cmdline --reproducible --zstd --kver "$kernel" \
  --modules "$modules" --drivers "$drivers" --filesystems "ext4 overlay" --tmpdir /tmp /tmp/initramfs.img 2>"$work/said"
# dracut says what it could not install and goes on without it.
if grep -E 'dracut\[E\]|ERROR' "$work/said" >&2; then exit 1; fi
cp tmp/initramfs.img "$out"
cd /
