//! Whether a time service has set the clock in this boot.

use std::fs;
use std::path::Path;

use upgrade::names;

/// Whether the clock was set, now or earlier in this boot. The kernel knows whether a time service
/// keeps it in step (adjtimex(2), for chrony, ntpd and systemd-timesyncd), and forgets that some
/// hours after the service is away. So a mark in /run, which a new boot clears, keeps it. A kernel
/// that does not say is believed: nothing could ever show that its clock was set.
pub fn was_set(root: &Path) -> bool {
    let mark = root.join(names::CLOCK_MARK.trim_start_matches('/'));
    by(&mark, host::os::clock_in_step())
}

fn by(mark: &Path, in_step: Option<bool>) -> bool {
    if mark.exists() {
        return true;
    }
    match in_step {
        None => true,
        Some(false) => false,
        Some(true) => {
            // Without the mark the agent asks the kernel again.
            let _ = mark.parent().map(fs::create_dir_all);
            let _ = fs::write(mark, "");
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_that_was_set_once_counts_for_the_rest_of_the_boot() {
        let run = tempfile::tempdir().unwrap();
        let mark = run.path().join("careen/clock-set");
        assert!(!by(&mark, Some(false)), "the battery's time");
        assert!(by(&mark, Some(true)));
        assert!(by(&mark, Some(false)), "the time service has gone since");
        assert!(by(&run.path().join("none"), None));
    }
}
