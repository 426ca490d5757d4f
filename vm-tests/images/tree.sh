#!/bin/sh
# Makes the base tree of an image, in OSTree's layout but without Careen: tree.sh ROOT FLAVOUR KUBE IMAGES OUT-DIRECTORY.
# FLAVOUR is the kernel to keep (cloud or generic), KUBE the multi-call program of kubelet and kubeadm, IMAGES a tar for containerd.
set -eu
root=$1 flavour=$2 kube=$3 images=$4 out=$5
here=$(dirname "$(readlink -f "$0")")

rm -rf "$out" "$out.new"
cp -a "$root" "$out.new"
cd "$out.new"
case $flavour in
  cloud) drop=$(ls usr/lib/modules | grep -v -- -cloud-) ;;
  generic) drop=$(ls usr/lib/modules | grep -- -cloud-) ;;
esac
rm -rf "usr/lib/modules/$drop" "boot/vmlinuz-$drop"
kernel=$(ls usr/lib/modules)
mv boot/vmlinuz-* "usr/lib/modules/$kernel/vmlinuz"
# kubeadm's preflight wants to see how the kernel was configured, also in `kubeadm upgrade node`.
mv "boot/config-$kernel" "usr/lib/modules/$kernel/config"
sed "s,^,usr/lib/modules/$kernel/kernel/," "$here/unused-modules.txt" | xargs rm -rf
rm -rf boot vmlinuz* etc/hostname etc/resolv.conf

cp -a --no-preserve=ownership "$here/files/." .
install -m 755 "$kube" usr/bin/kube
ln -sf kube usr/bin/kubelet
ln -sf kube usr/bin/kubeadm
install -D -m 644 "$images" usr/share/careen-rig/images.tar
chroot . depmod "$kernel"
chroot . systemctl preset-all 2>/dev/null
# Of no use in this machine, and every program that starts costs a fifth of a second under emulation.
while read -r unit; do ln -sf /dev/null "etc/systemd/system/$unit"; done <"$here/unused-units.txt"
chroot . passwd -d root >/dev/null
# Each file is fetched, hashed twice and linked in nearly every scenario, under emulation: no Perl, no package scripts.
xargs sh -c 'rm -rf -- $* $(grep -rlIE "^#! ?/usr/bin/(env )?perl" usr/bin usr/sbin)' sh <"$here/unused-files.txt"
: >etc/machine-id

# OSTree's layout: what changes lies in /var, what the image says of /etc in /usr/etc.
mkdir -p usr/lib/sysimage sysroot boot
mv var/lib/dpkg usr/lib/sysimage/dpkg
rm -rf var home root opt srv mnt media usr/local run dev proc sys tmp
mkdir var run dev proc sys
mkdir -m 1777 tmp
for dir in home opt srv mnt; do ln -s "var/$dir" "$dir"; done
ln -s var/roothome root
ln -s run/media media
ln -s ../var/usrlocal usr/local
ln -s sysroot/ostree ostree
mv etc usr/etc
mv "$out.new" "$out"
