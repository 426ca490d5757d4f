//! What a kernel is told on a trial, by each loader.

/// The kernel arguments of a trial. By default, a kernel that panics and an initramfs that waits
/// hang for ever; with these arguments both end in a reboot, which is the old system. A systemd
/// that crashes as the first process freezes. Versions before 256 do not know `crash_action`, and
/// newer ones take `crash_reboot` for the same (systemd, src/core/main.c).
pub const TRIAL_ARGUMENTS: &str = "careen.trial=1 panic=10 oops=panic softlockup_panic=1 \
rd.shell=0 rd.emergency=reboot systemd.crash_action=reboot systemd.crash_reboot=1 \
systemd.watchdog_sec=60 rd.timeout=90";
