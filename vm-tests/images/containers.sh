#!/bin/sh
# Writes an OCI archive with two images, pause and busybox, both of one static busybox: containers.sh BUSYBOX OUT.TAR.
# The pause ends at SIGTERM, as the real one does. The first process of a container gets no signal that it does not
# ask for, and systemd waits 90 s at a shutdown for a scope that does not end.
set -eu
busybox=$1 out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/oci/blobs/sha256
mkdir -p "$blobs" "$work/layer/bin" "$work/layer/tmp"

# Moves a file into the blobs and prints it as a descriptor: blob FILE MEDIA-TYPE [ANNOTATIONS].
blob() {
  digest=$(sha256sum "$1" | cut -d' ' -f1)
  size=$(stat -c %s "$1")
  mv "$1" "$blobs/$digest"
  printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s%s}' "$2" "$digest" "$size" "${3:-}"
}
pack() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$1" -cf "$2" .; }

# Prints the descriptor of an image's manifest: image NAME COMMAND-JSON.
image() {
  printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":%s,"Env":["PATH=/bin"]},"rootfs":{"type":"layers","diff_ids":["%s"]}}' \
    "$2" "$diff_id" >"$work/config"
  config=$(blob "$work/config" config.v1+json)
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' \
    "$config" "$layer" >"$work/manifest"
  blob "$work/manifest" manifest.v1+json ",\"annotations\":{\"io.containerd.image.name\":\"localhost/$1:rig\"}"
}

cp "$busybox" "$work/layer/bin/busybox"
for name in sh sleep cat echo true false wget nc ls touch date hostname; do ln -s busybox "$work/layer/bin/$name"; done
pack "$work/layer" "$work/layer.tar"
diff_id=sha256:$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
layer=$(blob "$work/layer.tar" layer.v1.tar)
pause=$(image pause "[\"/bin/sh\",\"-c\",\"trap 'exit 0' TERM INT; sleep infinity & wait\"]")
shell=$(image busybox '["/bin/sh"]')
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"
printf '{"schemaVersion":2,"manifests":[%s,%s]}' "$pause" "$shell" >"$work/oci/index.json"
pack "$work/oci" "$out"
