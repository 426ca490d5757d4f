# The first process of a member, in namespaces of its own: member.sh STATE NAME. STATE keeps what
# /etc and /var get, over boots. Everything else of the host can be read and not written.
set -eu
state=$1 name=$2
echo "$name" >/proc/sys/kernel/hostname
mount -t proc proc /proc
for folder in etc var; do
  layers="lowerdir=/$folder,upperdir=$state/$folder,workdir=$state/$folder.work"
  mount -t overlay overlay -o "$layers" "/$folder"
done
# Also hides systemd's socket, at which kubeadm would start and stop the host's kubelet.
mount -t tmpfs tmpfs /run
mkdir /run/tmp
for folder in / /boot /home /opt /root /srv /usr; do
  if mountpoint -q "$folder"; then mount -o remount,bind,ro "$folder"; fi
done
if [ ! -e /var/lib/kubelet/member ]; then
  # The host may be a node too.
  rm -rf /etc/kubernetes /var/lib/kubelet /var/lib/etcd
  mkdir -p /etc/kubernetes/manifests /var/lib/kubelet
  touch /var/lib/kubelet/member
fi
ip link set lo up
touch /run/booted
# Collects the processes whose parents have ended.
sleep infinity &
while :; do wait || :; done
