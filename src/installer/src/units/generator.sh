#!/bin/sh
# Careen's units for an image that has none of its own, put here by the DaemonSet's careen-installer
# and removed by its uninstall. $3 is of the lowest priority (systemd.generator(7)): whatever has
# such a name in /usr, /etc or /run wins. systemd's own PATH begins with /usr/local, which outlives
# images.
PATH=/usr/sbin:/usr/bin
export PATH
set -eu
if [ -e /usr/lib/systemd/system/careen-agent.service ]; then exit 0; fi
cp -R /etc/careen/units/. "$3/"
