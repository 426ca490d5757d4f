//! Runs `kubeadm upgrade node`: once per upgrade before the new kubelet starts, and again by the
//! agent if that failed.
//!
//! kubeadm needs the API server and hangs silently without one, so its run has a time limit. The
//! new kubelet also starts on the old configuration. But Careen blesses no system until kubeadm has
//! succeeded for this upgrade and the kubelet has started since.
//!
//! There is one exception. With the policy's `bless-without-api`, Careen also blesses a system that
//! has reached the API server in this boot and has lost it by the deadline. The agent then runs
//! kubeadm when the server is back, before it uncordons the node.

mod program;
mod work;

use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Places, control_plane, patches};
use systemd::{ActiveState, Bus};
use tracing::warn;
use upgrade::observe::{Cause, Check};
use upgrade::{Phase, Policy, Reason, Record, Upgrade, UpgradeId, limits, names};

use crate::unjoined;
use program::Failure;
pub use work::Work;

/// What is noted before kubeadm runs, in case nothing can be noted afterwards.
const CUT_SHORT: &str = "its service ended before kubeadm did";

/// What is noted before the kubelet of a control-plane node starts.
const TOO_EARLY: &str = "it runs when the API server of this node serves";

/// What is noted about one upgrade, as files in /run: a new boot must prove it again.
pub struct Notes {
    /// kubeadm has succeeded.
    success: PathBuf,
    /// kubeadm was run while a kubelet was up, and the restart of that kubelet is still due.
    owes_restart: PathBuf,
    /// Why the last run did not succeed, in one line.
    failure: PathBuf,
    /// Where the cause of that is, in one word.
    cause: PathBuf,
}

impl Notes {
    pub(crate) fn of(id: &UpgradeId) -> Self {
        Self::below(Path::new(names::RUN_DIR), id)
    }

    /// The notes of an upgrade in this folder.
    #[must_use]
    pub fn below(folder: &Path, id: &UpgradeId) -> Self {
        let file = |kind: &str| folder.join(format!("kubeadm{kind}-{id}"));
        Self {
            success: file(""),
            owes_restart: file("-owes-restart"),
            // No other upgrade's success file has this name.
            failure: folder.join(format!("failed-kubeadm-{id}")),
            cause: folder.join(format!("cause-kubeadm-{id}")),
        }
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.success.exists()
    }

    /// What is known without asking systemd. An agent that was killed before it restarted the
    /// kubelet leaves that to the next agent.
    #[must_use]
    pub fn check(&self) -> Option<Check> {
        match (self.has_succeeded(), self.owes_restart.exists()) {
            (true, false) => Some(Check::Pass),
            (true, true) => Some(Check::Fail(
                "it succeeded, but the kubelet was not restarted with what it wrote".to_owned(),
            )),
            (false, _) => None,
        }
    }

    /// Notes that kubeadm succeeded.
    ///
    /// # Errors
    /// The note cannot be written. The message is for a person.
    pub fn succeed(&self) -> Result<(), String> {
        note(&self.success).map_err(|error| format!("cannot note its success: {error}"))
    }

    /// Notes why kubeadm did not succeed, for the agent, which is another process. If the note
    /// fails, the journal still has the reason.
    fn fail(&self, why: &str, cause: Cause) {
        let word = serde_json::to_string(&cause).unwrap_or_default();
        let noted = write(&self.cause, &word).and_then(|()| write(&self.failure, why));
        if let Err(error) = noted {
            warn!("cannot note why kubeadm did not succeed: {error}");
        }
    }

    /// Why kubeadm has not succeeded, for a person.
    #[must_use]
    pub fn why_not(&self) -> String {
        let noted = std::fs::read(&self.failure).unwrap_or_default();
        // The note is cut already, and a second cut would take the end of kubeadm's words.
        let noted = upgrade::sanitize::line(&String::from_utf8_lossy(&noted));
        let why = match noted.as_str() {
            "" => "it has not succeeded yet",
            why => why,
        };
        format!("{why}; {}", where_to_look())
    }

    /// Where the cause of that is. Without a word of the last run nothing shows it.
    #[must_use]
    pub fn cause(&self) -> Cause {
        let noted = std::fs::read(&self.cause).unwrap_or_default();
        serde_json::from_slice(&noted).unwrap_or(Cause::Unclear)
    }

    /// Notes that the kubelet must be restarted. Call it before a late run of kubeadm, so that the
    /// note survives if the agent is killed.
    pub(crate) fn owe_restart(&self) -> Result<(), Reason> {
        let noted = note(&self.owes_restart);
        noted.map_err(|error| failed(&format!("cannot note the kubelet's restart: {error}")))
    }

    pub(crate) fn restarted(&self) -> Result<(), Reason> {
        let gone = std::fs::remove_file(&self.owes_restart);
        gone.map_err(|error| failed(&format!("cannot note the kubelet's restart: {error}")))
    }
}

fn note(file: &Path) -> std::io::Result<()> {
    write(file, "")
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(file, text)
}

/// Whether kubeadm has succeeded in this boot, and the kubelet has started since or is about to
/// start.
pub async fn check(id: &UpgradeId) -> Check {
    let notes = Notes::of(id);
    if let Some(known) = notes.check() {
        return known;
    }
    match running_now().await {
        Ok(true) => Check::Pending("kubeadm upgrade node is running".to_owned()),
        Ok(false) => Check::Fail(notes.why_not()),
        Err(error) => Check::Pending(format!("systemd does not answer: {error}")),
    }
}

/// Where the cause is if kubeadm has not succeeded.
pub fn cause(id: &UpgradeId) -> Cause {
    Notes::of(id).cause()
}

async fn running_now() -> systemd::Result<bool> {
    is_running(&Bus::system().await?).await
}

/// The unit stays `active` after its work is done, so only `activating` means that kubeadm is
/// running.
pub(crate) async fn is_running(bus: &Bus) -> systemd::Result<bool> {
    Ok(bus.state(names::KUBEADM_UNIT).await? == Some(ActiveState::Activating))
}

/// The id of the upgrade on trial, if there is one.
#[must_use]
pub fn on_trial(record: &Record) -> Option<&UpgradeId> {
    let upgrade = record.upgrade.as_ref()?;
    upgrade.phase.awaits_a_verdict().then_some(&upgrade.id)
}

/// The upgrade for which kubeadm must succeed: a trial runs, or a system was blessed without
/// kubeadm.
#[must_use]
pub fn wanted(record: &Record) -> Option<&Upgrade> {
    let upgrade = record.upgrade.as_ref()?;
    let is_due = upgrade.phase == Phase::Blessed && upgrade.attempt.kubeadm.due;
    (is_due || upgrade.phase.awaits_a_verdict()).then_some(upgrade)
}

/// How long one run may take, in a trial with this deadline. kubeadm takes about 3 s on a quiet
/// node. The restart of a kubelet is owed where one is up.
fn limit(notes: &Notes, deadline: u64) -> Duration {
    let is_before_the_kubelet = !notes.owes_restart.exists();
    Duration::from_secs(limits::kubeadm(deadline, is_before_the_kubelet))
}

/// Runs kubeadm as the policy says, and notes its success, or why it failed.
///
/// # Errors
/// Why kubeadm did not succeed. The message is for a person.
pub async fn run(upgrade: &Upgrade, policy: &Policy) -> Result<(), String> {
    // An older agent has armed the trial without a deadline.
    let deadline = match upgrade.attempt.deadline_seconds {
        0 => limits::trial(&policy.health, None),
        armed => armed,
    };
    let (notes, work) = (Notes::of(&upgrade.id), Work::of(upgrade));
    let limit = limit(&notes, deadline);
    run_noting(&notes, Path::new("/"), &policy.kubeadm.patches, work, limit).await
}

/// As [`run`], with these notes, the kubeadm of the system at this root, and this limit.
///
/// # Errors
/// As [`run`].
pub async fn run_noting(
    notes: &Notes,
    root: &Path,
    patches: &str,
    work: Work,
    limit: Duration,
) -> Result<(), String> {
    if unjoined::is_unjoined(&Places::running(root)) {
        // There is no kubelet to configure, and kubeadm would wait for a server.
        return Ok(());
    }
    if work == Work::KubeletConfig && !notes.owes_restart.exists() {
        // The API server of this node begins after its kubelet, and kubeadm would wait for it.
        notes.fail(TOO_EARLY, Cause::ApiServer);
        return Ok(());
    }
    notes.fail(CUT_SHORT, Cause::Unclear);
    let ready = check_a_worker(root, work).and_then(|()| patches::folder(root, patches));
    let done = match ready {
        Ok(patches) => program::upgrade_node(root, patches.as_deref(), work, limit).await,
        Err(why) => Err(Failure::of_the_node(why)),
    };
    if let Err(Failure { why, cause }) = done {
        notes.fail(&why, cause);
        return Err(why);
    }
    notes
        .succeed()
        .inspect_err(|why| notes.fail(why, Cause::Node))
}

/// All of `kubeadm upgrade node` is for workers alone. On a control plane it would raise the static
/// pods in the trial, or, without kube-apiserver.yaml, succeed without doing so.
fn check_a_worker(root: &Path, work: Work) -> Result<(), String> {
    let sign = control_plane::sign(&Places::running(root));
    match (work, sign) {
        (Work::Node, Some(sign)) => Err(format!(
            "this upgrade began on a worker, and {} shows a control plane",
            sign.display()
        )),
        (Work::Node, None) | (Work::KubeletConfig, _) => Ok(()),
    }
}

/// Where kubeadm's output is.
fn where_to_look() -> String {
    format!("see journalctl -u {}", names::KUBEADM_UNIT)
}

pub(crate) fn failed(detail: &str) -> Reason {
    Reason::KubeadmFailed {
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn run_beside_the_kubelet_has_more_time_than_the_one_before_it() {
        let (_folder, notes) = notes();
        assert_eq!(limit(&notes, 600).as_secs(), 90);
        notes.owe_restart().unwrap();
        assert_eq!(limit(&notes, 600).as_secs(), 200);
    }

    fn notes() -> (tempfile::TempDir, Notes) {
        let folder = tempfile::tempdir().unwrap();
        let notes = Notes::below(folder.path(), &"u1".parse().unwrap());
        (folder, notes)
    }

    #[test]
    fn kubeadm_success_passes_when_no_kubelet_restart_is_owed() {
        let (_folder, notes) = notes();
        assert_eq!(notes.check(), None, "systemd is asked whether it runs");
        notes.succeed().unwrap();
        assert_eq!(notes.check(), Some(Check::Pass));
    }

    #[tokio::test]
    async fn why_kubeadm_failed_is_told_to_the_agent() {
        let (folder, notes) = notes();
        let first = notes.why_not();
        assert!(
            first.starts_with("it has not succeeded yet; see journalctl"),
            "{first}"
        );
        let why = run_noting(&notes, folder.path(), "", Work::Node, LIMIT)
            .await
            .unwrap_err();
        assert!(why.contains("kubeadm is not in /usr/bin"), "{why}");
        assert_eq!(notes.why_not(), format!("{why}; {}", where_to_look()));
        assert_eq!(notes.cause(), Cause::Image, "the image has no kubeadm");
        assert_eq!(notes.check(), None);
    }

    #[tokio::test]
    async fn kubeadm_waits_for_the_kubelet_of_a_control_plane() {
        let (folder, notes) = notes();
        let run = || run_noting(&notes, folder.path(), "", Work::KubeletConfig, LIMIT);
        assert_eq!(run().await, Ok(()));
        assert!(notes.why_not().starts_with(TOO_EARLY));
        assert_eq!((notes.cause(), notes.check()), (Cause::ApiServer, None));
        notes.owe_restart().unwrap();
        let why = run().await.unwrap_err();
        assert!(why.contains("kubeadm is not in /usr/bin"), "{why}");
    }

    #[tokio::test]
    async fn kubeadm_never_upgrades_a_control_plane_as_a_worker() {
        let (folder, notes) = notes();
        let manifests = folder.path().join("etc/kubernetes/manifests");
        std::fs::create_dir_all(&manifests).unwrap();
        // kubeadm itself takes this node for a worker.
        std::fs::write(manifests.join("etcd.yaml"), "").unwrap();
        let run = run_noting(&notes, folder.path(), "", Work::Node, LIMIT);
        let why = run.await.unwrap_err();
        assert!(why.ends_with("etcd.yaml shows a control plane"), "{why}");
        assert_eq!((notes.cause(), notes.check()), (Cause::Node, None));
    }

    #[test]
    fn a_run_that_was_cut_short_is_told_as_one() {
        let (_folder, notes) = notes();
        notes.fail(CUT_SHORT, Cause::Unclear);
        assert!(notes.why_not().starts_with(CUT_SHORT));
    }

    #[test]
    fn no_upgrades_failure_is_another_ones_success() {
        let (folder, notes) = notes();
        notes.fail("broken", Cause::Image);
        for other in ["failed-u1", "failed-kubeadm-u1", "u1"] {
            let other = Notes::below(folder.path(), &other.parse().unwrap());
            assert!(!other.has_succeeded());
        }
    }

    #[test]
    fn owed_kubelet_restart_fails_the_kubeadm_check_until_done() {
        let (_folder, notes) = notes();
        notes.owe_restart().unwrap();
        assert_eq!(notes.check(), None, "it is still to succeed");
        notes.succeed().unwrap();
        let found = notes.check();
        assert!(
            matches!(&found, Some(Check::Fail(why)) if why.contains("not restarted")),
            "{found:?}"
        );
        notes.restarted().unwrap();
        assert_eq!(notes.check(), Some(Check::Pass));
    }
}
