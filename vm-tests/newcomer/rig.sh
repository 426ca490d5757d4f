# shellcheck shell=bash
# What the rig does for `make demo WAY=newcomer` in the place of what docs/images.md and docs/install.md say. Read by the shell that types them
# (src/demo/newcomer/typed.rs), which has the variables that begin with RIG.
work=$PWD loops='' sda='' at='the beginning'
ours=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "Debian" { print $2; exit }')
RIG_MIRROR=${CAREEN_DEBIAN_MIRROR:-$ours}
end() {
  [ "$1" = 0 ] || echo "stopped in the block of $at" >&2
  for place in root/proc target; do command umount -qR "$work/$place" || :; done
  for loop in $loops; do losetup -d "$loop"; done
  gpgconf --homedir "$HOME/site-key" --kill all || :
}
trap 'end $?' EXIT
# shellcheck source=disk.sh
. "$RIG/newcomer/disk.sh"
# What the pages install on this machine is there (vm-tests/setup.sh), but for GRUB.
apt-get() { echo "not typed: apt-get $*"; }
# Kubernetes' releases are the rig's own: curl -fsSL [-o FILE] URL.
curl() {
  local url=${!#} release program
  release=${url#https://dl.k8s.io/release/}
  program=$RIG_KUBERNETES/${release%%/*}/$(basename "$url" .sha256)
  case $url in
    *.sha256) printf %s "$(sha256sum <"$program" | cut -d' ' -f1)" ;;
    *) cp "$program" "$3" ;;
  esac
}
# It asks for a password on the terminal.
openssl() { command openssl "$@" rig; }
# What a site puts into its tree, and the rig: a way in, a network for pods and, for there is no registry, their images.
own_things() {
  local files=$RIG/images/files
  cp -a --no-preserve=ownership "$files/usr/libexec/careen-rig" root/usr/libexec/
  install -m 644 -t root/usr/lib/systemd/system "$files"/usr/lib/systemd/system/rig-*.service
  install -D -m 644 -t root/etc/cni/net.d "$files/etc/cni/net.d/10-rig.conflist"
  install -D -m 644 "$RIG_CONTAINERS" root/usr/share/careen-rig/images.tar
  echo 'd /var/lib/careen-rig' >root/usr/lib/tmpfiles.d/rig.conf
  sed -i '1a [plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "localhost/pause:rig"' root/etc/containerd/config.toml
}
