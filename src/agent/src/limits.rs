//! Limits of a boot and a shutdown that this machine's own past decides, unless the policy sets
//! them.

use host::{Places, durable};
use systemd::{BootTimes, Bus};
use tracing::{info, warn};
use upgrade::policy::Reboot;
use upgrade::{limits, names};

/// What was measured of this boot, and what logind allows of the next shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// How long the parts of this boot took; `None` if systemd does not answer.
    pub boot: Option<BootTimes>,
    /// For how many seconds programs may delay a shutdown; `None` if logind does not answer.
    pub delay: Option<u64>,
}

/// Asks systemd and logind.
pub async fn measure() -> Measured {
    let Ok(bus) = Bus::system().await else {
        return Measured::default();
    };
    Measured {
        boot: bus.boot_times().await.ok(),
        delay: bus.longest_delay().await.ok(),
    }
}

/// How long a shutdown that has begun may take, in seconds.
pub async fn of_shutdown(policy: &Reboot) -> u64 {
    let delay = match policy.shutdown_seconds {
        0 => measure().await.delay,
        _ => None,
    };
    limits::shutdown(policy, delay)
}

/// Notes how long the next trial's initramfs may wait for its devices, for careen-grub and
/// careen-deploy, which write the trial's kernel arguments. The record cannot tell it to the
/// initramfs: the record is on the disk that is waited for.
pub async fn note_of_initramfs(places: &Places, policy: &Reboot) {
    let measured = measure().await.boot.and_then(|boot| boot.initramfs);
    let seconds = limits::initramfs(policy, measured);
    info!("the initramfs of a trial has {seconds} s for its devices");
    let file = places.sysroot.join(names::INITRAMFS_NOTE);
    let noted = match seconds {
        limits::INITRAMFS => durable::remove(&file),
        _ => durable::write(&file, seconds.to_string().as_bytes(), 0o600),
    };
    if let Err(error) = noted {
        warn!("cannot note for how long an initramfs may wait: {error}");
    }
}
