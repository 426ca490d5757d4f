//! What the node's console output shows about its boots, including boots that no test could query.

use anyhow::{Context, Result, ensure};
use upgrade::names;

use super::Rig;

/// The first line of a kernel's log, and the last one.
const KERNEL_BEGINS: &str = "] Command line:";
const KERNEL_ENDS: &str = "] reboot: Restarting system";

impl Rig {
    /// The number of trial boots in the console output. The kernel prints its command line once per
    /// boot.
    #[must_use]
    pub fn trials(&self) -> usize {
        let console = self.console();
        console.lines().filter(|line| begins_a_trial(line)).count()
    }

    /// The number of boots that begin in the console output. The boot in which a scenario starts
    /// began before.
    #[must_use]
    pub fn boots(&self) -> usize {
        let console = self.console();
        let begins = |line: &&str| line.contains(KERNEL_BEGINS);
        console.lines().filter(begins).count()
    }

    /// Checks that there was exactly one trial boot.
    ///
    /// # Errors
    ///
    /// Fails when there was none, or more than one.
    pub fn expect_one_trial(&self) -> Result<()> {
        let trials = self.trials();
        ensure!(trials == 1, "there were {trials} trial boots, not one");
        Ok(())
    }

    /// Checks that the new system itself ended the last trial, and not before this second of its
    /// boot.
    ///
    /// # Errors
    ///
    /// Fails when the trial ended earlier, or other than by a reboot.
    pub fn expect_trial_lasted(&self, seconds: u32) -> Result<()> {
        let lasted =
            length_of_last_trial(&self.console()).context("no trial has ended by a reboot")?;
        ensure!(
            lasted >= f64::from(seconds),
            "the trial ended after {lasted:.0} s; it had {seconds}"
        );
        Ok(())
    }
}

fn begins_a_trial(line: &str) -> bool {
    line.contains(KERNEL_BEGINS) && line.contains(names::TRIAL_ARGUMENT)
}

/// The length of the last trial in the console output, until its kernel restarted the machine. It
/// is in seconds of the kernel's own clock.
fn length_of_last_trial(console: &str) -> Option<f64> {
    let mut length = None;
    let mut on_trial = false;
    for line in console.lines() {
        if line.contains(KERNEL_BEGINS) {
            on_trial = begins_a_trial(line);
            length = length.filter(|_| !on_trial);
        }
        if let Some((before, _)) = line.split_once(KERNEL_ENDS).filter(|_| on_trial) {
            length = before
                .rsplit('[')
                .next()
                .and_then(|time| time.trim().parse().ok());
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str =
        "[    0.000000] Command line: root=a\r\n[   99.5] reboot: Restarting system\r\n";
    const TRIAL: &str = "[    0.000000] Command line: root=a careen.trial=1\r\n";

    #[test]
    fn a_trial_lasts_until_its_own_kernel_restarts_the_machine() {
        let console = format!(
            "{OLD}{TRIAL}[  OK  ] Reached [  121.250000] reboot: Restarting system\r\n{OLD}"
        );
        assert_eq!(length_of_last_trial(&console), Some(121.25));
    }

    #[test]
    fn a_trial_that_was_reset_has_no_length() {
        assert_eq!(length_of_last_trial(&format!("{TRIAL}{OLD}")), None);
        assert_eq!(
            length_of_last_trial(&format!(
                "{TRIAL}[   31.0] reboot: Restarting system\n{OLD}{TRIAL}{OLD}"
            )),
            None
        );
        assert_eq!(length_of_last_trial(OLD), None);
    }
}
