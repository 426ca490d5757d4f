#!/bin/sh
# Packs a tree as .deb: deb.sh PACKAGE TREE VERSION OUT-FOLDER. PACKAGE/debian has what Debian alone wants; SOURCE_DATE_EPOCH dates it.
# By dpkg's own tools: dpkg-shlibdeps knows which versions of libraries a program needs, dpkg-deb sorts, clamps times and makes all root's.
set -eu
package=$1 tree=$2 version=$3-1 out=$4
from=$(dirname "$(readlink -f "$0")")/$package/debian
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
cd "$work"
cp "$from/control" debian/control
cat >debian/changelog <<END
$(sed -n 's/^Source: //p' debian/control) ($version) stable; urgency=medium

  * See changelog.gz beside this file.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date --rfc-email --date="@$SOURCE_DATE_EPOCH")
END

root=debian/$package
cp -a "$tree" "$root"
if [ -d "$root/usr/share/zsh" ]; then mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"; fi
# Debian has the licence's text in a place of its own.
rm -r "$root/usr/share/licenses"
gzip -9n <debian/changelog >"$root/usr/share/doc/$package/changelog.Debian.gz"
install -m 644 "$from/copyright" "$root/usr/share/doc/$package/copyright"
if [ -e "$from/lintian-overrides" ]; then
  install -D -m 644 "$from/lintian-overrides" "$root/usr/share/lintian/overrides/$package"
fi

mkdir "$root/DEBIAN"
# By name: when the package is purged its units are gone.
units=$(cd "$root" && { grep -ls '^\[Install\]' usr/lib/systemd/system/* || true; } | xargs -r -n 1 basename | tr '\n' ' ')
for script in postinst prerm postrm; do
  if [ -e "$from/$script" ]; then
    sed "s/@UNITS@/${units% }/" "$from/$script" >"$root/DEBIAN/$script"
    chmod 755 "$root/DEBIAN/$script"
  fi
done
# Files in /etc are the operator's to change.
(cd "$root" && find etc -type f 2>/dev/null | sed 's,^,/,' | sort >DEBIAN/conffiles)
if [ ! -s "$root/DEBIAN/conffiles" ]; then rm "$root/DEBIAN/conffiles"; fi
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
# Programs lie in bin and libexec; what dracut runs is shell.
# shellcheck disable=SC2046 # paths of our own, without spaces
dpkg-shlibdeps -Tdebian/substvars $(find "$root/usr" -type f \( -path '*/bin/*' -o -path '*/libexec/*' \) -printf '-e%p\n')
dpkg-gencontrol -p"$package" -P"$root" -Tdebian/substvars
# One thread: several cut the stream by their number.
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$out" >/dev/null
