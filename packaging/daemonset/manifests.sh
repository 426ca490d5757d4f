#!/bin/sh
# Renders the plain manifests from the chart: manifests.sh OUT-FOLDER. A test holds install.yaml and uninstall.yaml against it.
# Whoever applies them puts the image's name in place of IMAGE.
set -eu
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")"
helm=$(../../vm-tests/kube/build.sh helm)
for mode in install uninstall; do
  {
    echo "# Rendered from chart/ by manifests.sh; put your image in place of IMAGE, by digest."
    echo "---"
    cat namespace.yaml
    "$helm" template careen chart --namespace careen --set image=IMAGE,mode=$mode
  } >"$out/$mode.yaml"
done
