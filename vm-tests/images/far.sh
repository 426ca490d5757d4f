#!/bin/sh
# Writes an OCI archive with the images of a control plane: far.sh FAR-POD ETCD RIG OUT.TAR IMAGE...
# The program of each is FAR-POD, which finds the rig at RIG. Each names itself, or all would have one id.
set -eu
pod=$1 etcd=$2 rig=$3 out=$4 && shift 4
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
blobs=$work/oci/blobs/sha256 && mkdir -p "$blobs"

# Moves a file into the blobs and prints it as a descriptor: blob FILE MEDIA-TYPE [ANNOTATIONS].
blob() {
  digest=$(sha256sum "$1" | cut -d' ' -f1)
  size=$(stat -c %s "$1")
  mv "$1" "$blobs/$digest"
  printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s%s}' "$2" "$digest" "$size" "${3:-}"
}
pack() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$1" -cf "$2" .; }

# A layer whose programs are links to one: layer NAME PROGRAM LINK...; leaves NAME.id and NAME.layer.
layer() {
  bin=$work/$1/usr/local/bin name=$1
  mkdir -p "$bin" "$work/$1/tmp"
  install -m 755 "$2" "$bin/program"
  shift 2 && for link in "$@"; do ln -s program "$bin/$link"; done
  pack "$work/$name" "$work/$name.tar"
  sha256sum "$work/$name.tar" | cut -d' ' -f1 >"$work/$name.id"
  blob "$work/$name.tar" layer.v1.tar >"$work/$name.layer"
}

# Prints the descriptor of an image's manifest: image LAYER NAME.
image() {
  own=${2##*/}
  printf '{"architecture":"amd64","os":"linux","config":{"Cmd":["%s"],"Env":["PATH=/usr/local/bin","FAR_POD_RIG=%s","FAR_POD_IMAGE=%s"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "${own%%:*}" "$rig" "$own" "$(cat "$work/$1.id")" >"$work/config"
  config=$(blob "$work/config" config.v1+json)
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' \
    "$config" "$(cat "$work/$1.layer")" >"$work/manifest"
  blob "$work/manifest" manifest.v1+json ",\"annotations\":{\"io.containerd.image.name\":\"$2\"}"
}

layer far "$pod" kube-apiserver kube-controller-manager kube-scheduler kube-proxy coredns etcd pause
layer etcd "$etcd" etcd
manifests=
for name in "$@"; do
  case $name in */etcd:*) from=etcd ;; *) from=far ;; esac
  manifests=$manifests${manifests:+,}$(image $from "$name")
done
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"
printf '{"schemaVersion":2,"manifests":[%s]}' "$manifests" >"$work/oci/index.json"
pack "$work/oci" "$out"
