#!/bin/sh
# Makes a volume group `rig` with one volume `boot` in a part of a disk and prints where the volume begins, in MiB: disk-lvm.sh DISK MIB SIZE.
# Metadata only: the host's kernel need not have the device mapper.
set -eu
disk=$1 at=$2 size=$3
loop=$(losetup --find --show --offset $((at * 1048576)) --sizelimit $((size * 1048576)) "$disk")
trap 'losetup -d "$loop"' EXIT
export LVM_SUPPRESS_FD_WARNINGS=1
# Runs an LVM command that sees this one device.
volume() {
  command=$1
  shift
  "$command" --driverloaded n --config "devices { filter=[\"a|^$loop\$|\",\"r|.*|\"] use_devicesfile=0 }
    backup { backup=0 archive=0 } activation { udev_sync=0 udev_rules=0 }" "$@"
}
volume pvcreate -qq --dataalignment 1m "$loop" >&2
volume vgcreate -qq --physicalextentsize 1m rig "$loop" >&2
volume lvcreate -qq --activate n --zero n --wipesignatures n --size 512m --name boot rig >&2
first=$(volume pvs --noheadings --nosuffix --units m -o pe_start "$loop" | tr -d ' ')
echo $((at + ${first%%.*}))
