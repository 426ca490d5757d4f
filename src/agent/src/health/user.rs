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
mod tests {
    use super::super::group::seen;
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn write(folder: &Path, name: &str, script: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Every round runs every check, and every failure counts.
    const AT_ONCE: Pace = Pace {
        again: Duration::ZERO,
        counts: Duration::ZERO,
        repeats: None,
    };

    fn policy(tries: u32) -> policy::Health {
        policy::Health {
            check_seconds: 1,
            check_tries: tries,
            ..policy::Health::default()
        }
    }

    #[tokio::test]
    async fn failing_check_is_broken_after_its_tries_with_its_last_line() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            "storage",
            "echo looking; echo 'no /dev/sdb'; exit 1",
        );
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(2), AT_ONCE);
        checks.round().await;
        let why = || "no /dev/sdb (exit status 1)".to_owned();
        assert_eq!(
            checks.results(),
            [("storage".to_owned(), Check::Fail(why()))]
        );
        checks.round().await;
        assert_eq!(
            checks.results(),
            [("storage".to_owned(), Check::Broken(why()))]
        );
    }

    /// What one round reports.
    async fn told(checks: &mut UserChecks) -> Vec<(String, String)> {
        let mut told = Vec::new();
        let tell = |name: &str, why: &str| told.push((name.to_owned(), why.to_owned()));
        checks.round_telling(tell).await;
        told
    }

    #[tokio::test]
    async fn broken_check_is_reported_once_before_the_next_check_runs() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a", "echo gone; exit 1");
        let ran = folder.path().join("ran");
        write(folder.path(), "b", &format!("touch {}", ran.display()));
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1), AT_ONCE);
        let mut told = Vec::new();
        let tell = |name: &str, why: &str| {
            assert!(!ran.exists(), "told only after {name} and the next one");
            told.push((name.to_owned(), why.to_owned()));
        };
        checks.round_telling(tell).await;
        assert_eq!(told, [("a".to_owned(), "gone (exit status 1)".to_owned())]);
        assert_eq!(super::tests::told(&mut checks).await, [], "once");
    }

    #[tokio::test]
    async fn failures_close_together_count_once_and_a_later_pass_counts() {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        write(
            folder.path(),
            "pods",
            &format!("test -e {}", ready.display()),
        );
        let slow = Pace {
            counts: Duration::from_secs(3600),
            ..AT_ONCE
        };
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(2), slow);
        for round in 0..4 {
            checks.round().await;
            assert!(!checks.are_settled(), "round {round}");
        }
        fs::write(ready, "").unwrap();
        checks.round().await;
        assert_eq!(checks.results(), [("pods".to_owned(), Check::Pass)]);
    }

    #[tokio::test]
    async fn a_check_that_failed_rests_before_it_is_run_again() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "once", "echo run >> $0.log; exit 1");
        let lazy = Pace {
            again: Duration::from_secs(3600),
            ..AT_ONCE
        };
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(9), lazy);
        checks.round().await;
        checks.round().await;
        let runs = fs::read_to_string(folder.path().join("once.log")).unwrap();
        assert_eq!(runs, "run\n");
    }

    #[tokio::test]
    async fn check_that_passed_is_repeated_and_may_fail_later() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        write(
            folder.path(),
            "disk",
            &format!("test ! -e {}", gone.display()),
        );
        let repeating = Pace {
            repeats: Some(Duration::ZERO),
            ..AT_ONCE
        };
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(2), repeating);
        let mut now = async || {
            checks.round().await;
            checks.results().remove(0).1
        };
        assert_eq!(now().await, Check::Pass);
        fs::write(&gone, "").unwrap();
        assert!(matches!(now().await, Check::Fail(_)));
        fs::remove_file(&gone).unwrap();
        assert_eq!(now().await, Check::Pass);
        fs::write(&gone, "").unwrap();
        assert!(
            matches!(now().await, Check::Fail(_)),
            "the count began again"
        );
        assert!(matches!(now().await, Check::Broken(_)));
    }

    #[tokio::test]
    async fn hanging_check_breaks_at_its_limit_and_its_children_end() {
        let folder = tempfile::tempdir().unwrap();
        let id = folder.path().join("id");
        write(folder.path(), "slow", &seen::hangs_in_a_child(&id));
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1), AT_ONCE);
        checks.round().await;
        assert_eq!(checks.causes(), [Cause::Unclear]);
        let why = "no answer in 1 s".to_owned();
        assert_eq!(checks.results(), [("slow".to_owned(), Check::Broken(why))]);
        assert!(seen::ends(seen::child(&id).await).await);
    }

    #[tokio::test]
    async fn a_check_that_cannot_be_run_is_pending_not_bad() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd");
        fs::write(&path, "#!/nowhere\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1), AT_ONCE);
        checks.round().await;
        assert!(matches!(checks.results()[0].1, Check::Pending(_)));
    }

    #[tokio::test]
    async fn the_operators_check_replaces_the_images_of_the_same_name() {
        let (image, operator) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(image.path(), "net", "exit 1");
        write(operator.path(), "net", "exit 0");
        fs::write(operator.path().join("README"), "not a check").unwrap();
        let folders = [image.path().to_owned(), operator.path().to_owned()];
        let mut checks = UserChecks::read(&folders, &policy(1), AT_ONCE);
        checks.round().await;
        assert_eq!(checks.results(), [("net".to_owned(), Check::Pass)]);
    }

    #[tokio::test]
    async fn a_check_that_others_may_write_is_not_run_and_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let ran = folder.path().join("ran");
        write(folder.path(), "net", &format!("touch {}", ran.display()));
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path().join("net"), everybody).unwrap();
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(9), AT_ONCE);
        checks.round().await;
        assert!(!ran.exists());
        let results = checks.results();
        let [(_, Check::Broken(why))] = &results[..] else {
            panic!("{results:?}");
        };
        assert!(why.contains("not run as root"), "{why}");
    }
}
