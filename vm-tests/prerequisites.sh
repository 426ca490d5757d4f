#!/bin/sh
# Builds what single scenarios want besides, before they run where there is no network: prerequisites.sh WHICH, as in `vm-tests run WHICH`.
set -eu
cd "$(dirname "$0")/.."
for one in $(echo "$1" | tr , ' '); do
  case $one in all | careen-of-two-ages-on-one-node) vm-tests/aged/build.sh ;; esac
  case $one in all | the-metrics-proxy-as-a-pod) tests/tests/monitoring/build.sh kube-rbac-proxy >/dev/null ;; esac
done
