#!/bin/sh
# Renders the plain manifests from the chart: manifests.sh OUT-FOLDER. A test holds install.yaml and
# uninstall.yaml against it. Replace IMAGE by the image's name before you apply them.
set -eu
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")"
helm=$(../../vm-tests/kube/build.sh helm)
for mode in install uninstall; do
  {
    echo "# Rendered from chart/ by manifests.sh. Replace IMAGE by your image, by digest."
    echo "---"
    cat namespace.yaml
    "$helm" template careen chart --namespace careen --set image=IMAGE,mode=$mode
  } >"$out/$mode.yaml"
done
