#!/bin/sh
# Runs a command of a recipe in ROOT with LAYER laid over it: installer-run.sh ROOT LAYER COMMAND. What it writes goes into LAYER; ROOT stays as it is.
set -eu
if [ "${IN_NAMESPACE:-}" != yes ]; then
  IN_NAMESPACE=yes exec unshare --mount --propagation private "$0" "$@"
fi
root=$(readlink -f "$1") layer=$(readlink -f "$2") command=$3

work=$(mktemp -d)
# Lazily: the mounts go with the namespace, only the folder must be free.
trap 'umount -R -l "$work"; rmdir "$work"' EXIT
mount -t tmpfs tmpfs "$work"
mkdir "$work/root" "$work/upper" "$work/overlay"
mount -t overlay overlay -o "lowerdir=$layer:$root,upperdir=$work/upper,workdir=$work/overlay" "$work/root"
mount -t proc proc "$work/root/proc"
mount --rbind /dev "$work/root/dev"
chroot "$work/root" /bin/sh -c "$command"
umount -R -l "$work/root"
# An overlay marks what is removed by devices, which in a layer of an image mean nothing of the kind.
if find "$work/upper" -type c | grep . >&2; then
  echo "installer-run.sh: the recipe removes what was there before it; that is not followed" >&2
  exit 1
fi
cp -a "$work/upper/." "$layer/"
