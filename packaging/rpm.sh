#!/bin/sh
# Packs a tree as .rpm: rpm.sh PACKAGE TREE VERSION OUT-FOLDER. PACKAGE/PACKAGE.spec says what it
# is; SOURCE_DATE_EPOCH dates it. By rpmbuild: its generator knows which libraries, and which
# versions of their symbols, a program needs.
set -eu
package=$1 tree=$2 version=$3 out=$4
spec=$(dirname "$(readlink -f "$0")")/$package/$package.spec
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Host, times and build ids would tell of this machine; rpmbuild must not strip or sort anything
# afterwards.
rpmbuild -bb --quiet --target x86_64 --buildroot "$work/root" \
  --define "_topdir $work" --define "_rpmdir $work" --define '_rpmfilename %{name}-%{version}-%{release}.%{arch}.rpm' \
  --define "careen_version $version" --define "careen_tree $tree" \
  --define '_buildhost reproducible' --define 'use_source_date_epoch_as_buildtime 1' \
  --define 'clamp_mtime_to_source_date_epoch 1' --define 'build_mtime_policy clamp_to_source_date_epoch' \
  --define '_binary_payload w19.zstdio' --define 'debug_package %{nil}' --define '__os_install_post %{nil}' \
  --define '_build_id_links none' "$spec"
mv "$work"/*.rpm "$out/"
