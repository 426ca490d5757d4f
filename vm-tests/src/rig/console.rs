//! What the node's console tells of its boots, also of those that nobody could ask.

use anyhow::{Context, Result, ensure};
use upgrade::names;

use super::Rig;

/// The line with which a kernel begins to speak, and the one with which it ends.
const KERNEL_BEGINS: &str = "] Command line:";
const KERNEL_ENDS: &str = "] reboot: Restarting system";

impl Rig {
    /// How many trial boots the console has seen: the kernel repeats its command line once per boot.
    #[must_use]
    pub fn trials(&self) -> usize {
        let console = self.console();
        console.lines().filter(|line| begins_a_trial(line)).count()
    }

    /// How many boots the console has seen begin. The one that a scenario starts in began before.
    #[must_use]
    pub fn boots(&self) -> usize {
        let console = self.console();
        let begins = |line: &&str| line.contains(KERNEL_BEGINS);
        console.lines().filter(begins).count()
    }

    /// There was one trial boot, no more.
    ///
    /// # Errors
    /// When there was none, or a second.
    pub fn expect_one_trial(&self) -> Result<()> {
        let trials = self.trials();
        ensure!(trials == 1, "there were {trials} trial boots, not one");
        Ok(())
    }

    /// The last trial was ended from within the new system, and not before this second of its boot.
    ///
    /// # Errors
    /// When it ended before, or otherwise than by a reboot.
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

/// Seconds on the kernel's own clock from the begin of the last trial on the console until its kernel restarted the machine.
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
