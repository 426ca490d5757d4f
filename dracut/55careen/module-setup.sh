#!/bin/bash
# Careen's guard in the initramfs. Add it with: dracut --add careen. Written for dracut 059 and later; nothing of 107 is needed.

check() {
    # Only where it is asked for: an initramfs without it boots as it always did.
    return 255
}

depends() {
    echo ostree systemd
}

installkernel() {
    # systemd feeds a hardware watchdog on a trial (systemd.watchdog_sec) as soon as udev has found one. -s: a missing one is no matter.
    instmods -s i6300esb iTCO_wdt sp5100_tco
}

install() {
    local unit target=$systemdsystemunitdir/initrd-root-fs.target.requires
    inst_simple /usr/libexec/careen/careen-stage
    inst_hook shutdown-emergency 00 "$moddir/careen-die.sh"
    for unit in careen-guard.service careen-verify.service careen-fallback.service; do
        inst_simple "$moddir/$unit" "$systemdsystemunitdir/$unit"
    done
    inst_multiple "$systemdsystemunitdir"/careen-initrd-deadman.{service,timer}
    # Required, not wanted: a boot whose guard cannot run does not go on.
    mkdir -p "$initdir$target" "$initdir$systemdsystemunitdir"/{emergency,rescue,initrd}.target.wants \
        "$initdir$systemdsystemunitdir/ostree-prepare-root.service.requires"
    ln -sf ../careen-guard.service "$initdir$target/careen-guard.service"
    ln -sf ../careen-verify.service "$initdir$target/careen-verify.service"
    ln -sf ../careen-guard.service "$initdir$systemdsystemunitdir/ostree-prepare-root.service.requires/careen-guard.service"
    ln -sf ../careen-fallback.service "$initdir$systemdsystemunitdir/emergency.target.wants/careen-fallback.service"
    ln -sf ../careen-fallback.service "$initdir$systemdsystemunitdir/rescue.target.wants/careen-fallback.service"
    ln -sf ../careen-initrd-deadman.timer "$initdir$systemdsystemunitdir/initrd.target.wants/careen-initrd-deadman.timer"
}
