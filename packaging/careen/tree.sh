#!/bin/sh
# Lays out the node side as it is on a node: tree.sh PROGRAMS PAPERS TREE. The same files for .deb and .rpm.
set -eu
programs=$1 papers=$2 tree=$3
source=$(dirname "$(readlink -f "$0")")/../..
# put FOLDER MODE FILE...
put() {
  folder=$1 mode=$2
  shift 2
  install -d "$tree/$folder"
  install -m "$mode" "$@" "$tree/$folder/"
}

put usr/libexec/careen 755 "$programs"/careen-agent "$programs"/careen-control "$programs"/careen-deploy "$programs"/careen-grub "$programs"/careen-stage
# A person types their names.
install -d "$tree/usr/bin"
ln -s ../libexec/careen/careen-agent ../libexec/careen/careen-control "$tree/usr/bin/"

put usr/lib/dracut/modules.d/55careen 755 "$source"/dracut/55careen/*.sh
put usr/lib/dracut/modules.d/55careen 644 "$source"/dracut/55careen/*.service
put usr/lib/dracut/dracut.conf.d 644 "$source"/packaging/careen/50-careen.conf
put usr/lib/systemd/system 644 "$source"/systemd/system/careen-*
for unit in bootloader-update ostree-finalize-staged systemd-boot-update; do
  put usr/lib/systemd/system/$unit.service.d 644 "$source"/systemd/system/$unit.service.d/careen.conf
done
put usr/lib/systemd/system-preset 644 "$source"/systemd/system-preset/90-careen.preset
put usr/lib/tmpfiles.d 644 "$source"/systemd/tmpfiles.d/careen.conf
# The default policy is the one in the docs (a test holds it against the code), commented out to the last section: what a person appends would fall in that.
install -d "$tree/etc/careen/required.d" "$tree/etc/careen/wanted.d" "$tree/etc/careen/pre.d" "$tree/etc/careen/post.d" "$tree/etc/careen/snapshot.d"
{
  printf '# %s\n' 'What this node allows: docs/policy.md. These are the defaults; to change one take the # away,' \
    'before it and before its [section], or append lines of your own: those without a section first.'
  sed -n '/^```toml$/,/^```$/p' "$source/docs/policy.md" | sed -e '/^```/d' -e 's/^[a-z]/#&/' -e 's/^\[/#&/'
} >"$tree/etc/careen/policy.toml"
put usr/share/doc/careen 644 "$source"/docs/*.md
put usr/share/doc/careen/pictures 644 "$source"/docs/pictures/*.svg
for program in careen-agent careen-control careen-deploy careen-stage; do
  put usr/share/doc/careen 644 "$papers/sbom/$program.cdx.json" "$papers/licences/$program.txt"
done
put usr/share/licenses/careen 644 "$source"/LICENSE
gzip -9n <"$source/CHANGELOG.md" >"$tree/usr/share/doc/careen/changelog.gz"
put usr/share/man/man8 644 "$papers"/man/careen-*.8
gzip -9n "$tree"/usr/share/man/man8/*
install -d "$tree/usr/share/bash-completion/completions"
for program in careen-agent careen-control careen-deploy; do
  put usr/share/zsh/site-functions 644 "$papers/zsh/_$program"
  put usr/share/fish/vendor_completions.d 644 "$papers/fish/$program.fish"
  install -m 644 "$papers/bash/$program.bash" "$tree/usr/share/bash-completion/completions/$program"
done
