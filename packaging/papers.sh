#!/bin/sh
# Writes what comes with the programs: papers.sh OUT-FOLDER. Manual pages and completions (man,
# bash, zsh, fish); and of each program what it is made of (sbom, CycloneDX) and the licences of its
# libraries (licences).
set -eu
mkdir -p "$1/sbom" "$1/licences"
out=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")/.."
here=$PWD
PATH=${CAREEN_CACHE:-$HOME/.cache/careen}/tools/bin:$PATH

cargo run --quiet --locked -p careen-pages -- "$out"
# cargo-about is offline below, and wants all that Cargo.lock names.
cargo fetch --quiet --locked

# cargo-cyclonedx writes beside every manifest of a workspace, so it gets a copy.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy"
cd "$copy"
cargo cyclonedx --quiet --format json --spec-version 1.5 --target x86_64-unknown-linux-gnu --no-build-deps
for folder in src/agent src/control src/deploy src/stage src/installer src/kubectl src/image src/provider; do
  sbom=$(echo $folder/*.cdx.json)
  # The one thing in it that depends on where it was made.
  sed "s,$copy,/careen,g" "$sbom" >"$out/sbom/$(basename "$sbom")"
  # Offline: the texts are in the crates, and what a server adds may be another thing tomorrow.
  cargo about generate --locked --offline --fail --config "$here/packaging/about.toml" --manifest-path $folder/Cargo.toml \
    --output-file "$out/licences/$(basename "$sbom" .cdx.json).txt" "$here/packaging/about.hbs"
done
