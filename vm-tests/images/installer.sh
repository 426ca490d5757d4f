#!/bin/sh
# Writes an OCI archive with the image of the DaemonSet: installer.sh ROOT LAYER CONFIG NAME OUT.TAR [PROGRAM...]. LAYER is what the steps of its
# recipe leave, CONFIG a file that says how it is run. In place of the recipe's Debian it has from the rig's Debian ROOT those PROGRAMs and
# what they need: the node gets it under emulation.
# (blob and pack are those of containers.sh, which is left alone: a change of it builds every image of the rig again.)
set -eu
root=$1 recipe=$2 config=$3 name=$4 out=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/oci/blobs/sha256
mkdir -p "$blobs" "$work/layer"

# Moves a file into the blobs and prints it as a descriptor: blob FILE MEDIA-TYPE [ANNOTATIONS].
blob() {
  digest=$(sha256sum "$1" | cut -d' ' -f1)
  size=$(stat -c %s "$1")
  mv "$1" "$blobs/$digest"
  printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s%s}' "$2" "$digest" "$size" "${3:-}"
}
pack() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$1" -cf "$2" .; }

# What the loader finds for a program, and what journalctl opens by itself: journals are compressed with zstd.
for program in "$@"; do
  libraries=$(chroot "$root" ldd "$program" | grep -o '/[^ ]*')
  for file in "$program" $libraries $(cd "$root" && find usr/lib -name 'libzstd.so.1'); do
    (cd "$root" && cp --dereference --parents "./${file#/}" "$work/layer/")
  done
done
cp -a --no-preserve=ownership "$recipe/." "$work/layer/"
mkdir -p "$work/layer/run" "$work/layer/tmp"
pack "$work/layer" "$work/layer.tar"
diff_id=sha256:$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
layer=$(blob "$work/layer.tar" layer.v1.tar)
printf '{"architecture":"amd64","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":["%s"]}}' \
  "$(cat "$config")" "$diff_id" >"$work/config"
config=$(blob "$work/config" config.v1+json)
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' \
  "$config" "$layer" >"$work/manifest"
manifest=$(blob "$work/manifest" manifest.v1+json ",\"annotations\":{\"io.containerd.image.name\":\"$name\"}")
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"
printf '{"schemaVersion":2,"manifests":[%s]}' "$manifest" >"$work/oci/index.json"
pack "$work/oci" "$out"
