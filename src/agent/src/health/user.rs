//! The operator's own checks: executables; exit 0 passes, else the last line of output is the reason.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;
use upgrade::observe::Check;
use upgrade::policy;

/// The longest reason that is repeated, in characters.
const SHOWN: usize = 200;

/// Checks of one kind, with what is known of each.
pub struct UserChecks {
    checks: BTreeMap<String, One>,
    limit: Duration,
    tries: u32,
}

struct One {
    path: PathBuf,
    result: Check,
    failures: u32,
    told: bool,
}

impl UserChecks {
    /// Finds the checks; of two with one name the later folder's counts. An absent folder holds none.
    #[must_use]
    pub fn read(folders: &[PathBuf], policy: &policy::Health) -> Self {
        let mut checks = BTreeMap::new();
        for path in folders.iter().flat_map(|folder| executables(folder)) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let result = Check::Pending("not run yet".to_owned());
            checks.insert(
                name,
                One {
                    path,
                    result,
                    failures: 0,
                    told: false,
                },
            );
        }
        Self {
            checks,
            limit: Duration::from_secs(policy.check_seconds),
            tries: policy.check_tries,
        }
    }

    /// Runs every check that has not come to its result, one after the other: a node on trial is busy enough.
    pub async fn round(&mut self) {
        for one in self.checks.values_mut() {
            if !matches!(one.result, Check::Pass | Check::Broken(_)) {
                one.run(self.limit, self.tries).await;
            }
        }
    }

    /// What is known now, by name.
    #[must_use]
    pub fn results(&self) -> Vec<(String, Check)> {
        self.checks
            .iter()
            .map(|(name, one)| (name.clone(), one.result.clone()))
            .collect()
    }

    /// Checks that have failed for good since this was asked last.
    pub fn newly_broken(&mut self) -> Vec<(String, String)> {
        let mut broken = Vec::new();
        for (name, one) in &mut self.checks {
            if let (Check::Broken(why), false) = (&one.result, one.told) {
                broken.push((name.clone(), why.clone()));
                one.told = true;
            }
        }
        broken
    }
}

impl One {
    async fn run(&mut self, limit: Duration, tries: u32) {
        let why = match tokio::time::timeout(limit, output(&self.path)).await {
            Ok(Ok(output)) if output.status.success() => {
                self.result = Check::Pass;
                return;
            }
            Ok(Ok(output)) => last_line(&output),
            Ok(Err(error)) => {
                // A check that cannot be run says nothing about the system.
                self.result = Check::Pending(format!("cannot be run: {error}"));
                return;
            }
            Err(_) => format!("no answer in {} s", limit.as_secs()),
        };
        self.failures += 1;
        self.result = if self.failures < tries {
            Check::Fail(why)
        } else {
            Check::Broken(why)
        };
    }
}

async fn output(path: &Path) -> std::io::Result<Output> {
    // Dropped at its time limit, it must not go on beside the next try.
    Command::new(path)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
}

fn last_line(output: &Output) -> String {
    let said = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    };
    let line = said(&output.stdout).or_else(|| said(&output.stderr));
    line.unwrap_or_else(|| output.status.to_string())
        .chars()
        .take(SHOWN)
        .collect()
}

fn executables(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            let meta = std::fs::metadata(path);
            meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(folder: &Path, name: &str, script: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn policy(tries: u32) -> policy::Health {
        policy::Health {
            check_seconds: 1,
            check_tries: tries,
            ..policy::Health::default()
        }
    }

    #[tokio::test]
    async fn a_failing_check_counts_after_its_tries_and_gives_its_last_line() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            "storage",
            "echo looking; echo 'no /dev/sdb'; exit 1",
        );
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(2));
        checks.round().await;
        let why = || "no /dev/sdb".to_owned();
        assert_eq!(
            checks.results(),
            [("storage".to_owned(), Check::Fail(why()))]
        );
        checks.round().await;
        assert_eq!(
            checks.results(),
            [("storage".to_owned(), Check::Broken(why()))]
        );
        assert_eq!(checks.newly_broken(), [("storage".to_owned(), why())]);
        assert_eq!(checks.newly_broken(), []);
    }

    #[tokio::test]
    async fn a_check_that_hangs_fails_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "slow", "exec sleep 100");
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1));
        checks.round().await;
        let why = "no answer in 1 s".to_owned();
        assert_eq!(checks.results(), [("slow".to_owned(), Check::Broken(why))]);
    }

    #[tokio::test]
    async fn a_check_that_cannot_be_run_is_pending_not_bad() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd");
        fs::write(&path, "#!/nowhere\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1));
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
        let mut checks = UserChecks::read(&folders, &policy(1));
        checks.round().await;
        assert_eq!(checks.results(), [("net".to_owned(), Check::Pass)]);
    }
}
