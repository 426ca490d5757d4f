//! The operator's own checks: executables. Exit 0 passes; otherwise the last line of output is the
//! reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use upgrade::observe::{Cause, Check};
use upgrade::policy;

use super::check::{Limits, One, Pace};
use super::programs::{self, Program, is_the_images};

/// Checks of one kind, with their results.
pub struct UserChecks {
    checks: BTreeMap<String, One>,
    limits: Limits,
}

impl UserChecks {
    /// Finds the checks. If two have the same name, the one in the later folder applies. An absent
    /// folder holds no checks.
    #[must_use]
    pub fn read(folders: &[PathBuf], policy: &policy::Health, pace: Pace) -> Self {
        Self::of(programs::find_checks(folders), policy, pace)
    }

    /// The checks of this folder of the system at `root`, for a rehearsal. Those that are the
    /// image's own are left out: the next image brings its own. Every failure counts.
    #[must_use]
    pub fn rehearsed(root: &Path, folder: &Path, policy: &policy::Health) -> Self {
        let mut checks = programs::find_checks(&[folder.to_owned()]);
        checks.retain(|_, program| {
            let below = program.path.strip_prefix(root);
            !below.is_ok_and(|path| is_the_images(root, &Path::new("/").join(path)))
        });
        let pace = Pace {
            again: Duration::ZERO,
            counts: Duration::ZERO,
            repeats: None,
        };
        Self::of(checks, policy, pace)
    }

    fn of(checks: BTreeMap<String, Program>, policy: &policy::Health, pace: Pace) -> Self {
        let checks = checks.into_iter();
        Self {
            checks: checks
                .map(|(name, program)| (name, One::new(program.path, program.fault)))
                .collect(),
            limits: Limits {
                time: Duration::from_secs(policy.check_seconds),
                tries: policy.check_tries,
                pace,
            },
        }
    }

    /// Runs every check that is due and has no final result, one after the other, because a node on
    /// trial is busy enough.
    pub async fn round(&mut self) {
        self.round_telling(|_, _| ()).await;
    }

    /// As [`round`](Self::round), and reports each check that has failed for good, with its name
    /// and the reason: once, and before the next check runs.
    pub async fn round_telling(&mut self, mut broken: impl FnMut(&str, &str)) {
        for (name, one) in &mut self.checks {
            one.run(&self.limits).await;
            if let Some(why) = one.newly_broken() {
                broken(name, why);
            }
        }
    }

    /// Runs rounds until every check has a final result, at most as many as a check has tries.
    pub async fn until_settled(&mut self, pause: Duration) {
        for _ in 0..self.limits.tries {
            self.round().await;
            if self.are_settled() {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Whether every check has a final result.
    #[must_use]
    pub fn are_settled(&self) -> bool {
        self.checks.values().all(One::is_settled)
    }

    /// Where the cause is of each check that does not pass, in the same order.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        self.checks.values().map(|one| one.cause).collect()
    }

    /// The current results, by name.
    #[must_use]
    pub fn results(&self) -> Vec<(String, Check)> {
        self.checks
            .iter()
            .map(|(name, one)| (name.clone(), one.result.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests;
