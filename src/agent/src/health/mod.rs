//! The checks of a trial that do not need the API server. They run until there is a verdict.
//!
//! "Could not check" is never "bad": a check that could not look is pending, and the deadline
//! decides.

pub(crate) mod addresses;
mod before;
pub(crate) mod cause;
mod check;
mod checked;
pub(crate) mod confined;
pub(crate) mod crash;
mod credential;
mod disk;
pub(crate) mod flags;
pub(crate) mod group;
pub(crate) mod kubelet;
pub(crate) mod launched;
mod libraries;
pub(crate) mod network;
pub(crate) mod output;
pub(crate) mod ownership;
pub(crate) mod programs;
mod running;
pub(crate) mod runtime;
pub mod said;
pub mod sandbox;
mod starts;
mod user;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use upgrade::names::{CHECK_UNIT, KUBELET_CONF};
use upgrade::observe::{Cause, Causes, Check};
use upgrade::policy::Demand;
use upgrade::serving::Serving;
use upgrade::{Policy, Reason, UpgradeId, limits};

use crate::access::Local;
use crate::kubeadm;

use crate::serving::{SystemWatch, UnitsWatch};

use before::demand;
pub use before::{before, starts_pods};
use check::Pace;
use checked::Checked;
use network::Network;
pub use running::running_pods;
use sandbox::{Sandbox, SandboxRequest, Wanted};
pub use user::UserChecks;

/// Pause between two rounds, only while a trial waits for its verdict. A round is a greeting on a
/// socket, a GET on the loopback and a stat call.
const PAUSE: Duration = Duration::from_millis(500);

/// Folders of user checks. The operator's folder follows the image's, and a file of the same name
/// replaces the image's.
const REQUIRED: [&str; 2] = ["/usr/lib/careen/required.d", "/etc/careen/required.d"];

/// As [`REQUIRED`], for checks that are reported and decide nothing.
const WANTED: [&str; 2] = ["/usr/lib/careen/wanted.d", "/etc/careen/wanted.d"];

/// Pause before a check that failed in the rehearsal runs again.
const AGAIN: Duration = Duration::from_secs(2);

/// Checks forever. `joined`: the machine is a node of a cluster, so it needs its kubelet. `served` is
/// what the old system did. `found` receives the changes.
pub async fn run(
    id: &UpgradeId,
    joined: bool,
    served: &Serving,
    policy: Arc<Policy>,
    found: watch::Sender<Option<Local>>,
) {
    // The agent does not wait for these: they decide nothing, and a slow one must not delay the
    // verdict.
    tokio::spawn(report_wanted(Arc::clone(&policy), found.subscribe()));
    let mut checks = Checks::begin(joined, served, &policy).await;
    loop {
        let runs = found.borrow().as_ref().is_some_and(Local::runs);
        let now = checks.round(id, runs).await;
        found.send_if_modified(|before| {
            tell(before.as_ref(), &now);
            let changed = before.as_ref() != Some(&now);
            *before = Some(now);
            changed
        });
        tokio::time::sleep(PAUSE).await;
    }
}

/// The checks of one trial, with what earlier rounds have shown.
struct Checks {
    joined: bool,
    required: UserChecks,
    network: Network,
    units: UnitsWatch,
    system: SystemWatch,
    sandbox: Sandbox,
    checked: Checked,
    causes: cause::Services,
}

impl Checks {
    async fn begin(joined: bool, served: &Serving, policy: &Policy) -> Self {
        let mut network = Network::follow(KUBELET_CONF.into());
        // Without this wait, a verdict of the first round would mistake a missing network for an
        // unreachable API server.
        network.first().await;
        Self {
            joined,
            required: UserChecks::read(
                &paths(REQUIRED),
                &policy.health,
                Pace::repeating(&policy.health),
            ),
            network,
            units: UnitsWatch::against(served.units.as_ref()),
            system: SystemWatch::against(served.kernel.as_ref()),
            sandbox: Sandbox::new(
                demanded(policy.health.sandbox, served.no_sandbox),
                SandboxRequest::of_this_node(Wanted::of(served)),
                Pace::repeating(&policy.health).repeats,
            ),
            checked: Checked::default(),
            causes: cause::Services::with_patches(&policy.kubeadm.patches),
        }
    }

    /// User checks ask about a running node. Before the node `runs`, they would only use up their
    /// tries. They may take a while, so the agent looks at the node itself after them. Otherwise
    /// the verdict would use results from before they began.
    async fn round(&mut self, id: &UpgradeId, runs: bool) -> Local {
        if runs {
            self.sandbox.begin();
            self.required.round().await;
        }
        let runtime = runtime::check(Path::new(runtime::SOCKET)).await;
        let kubelet = self.kubelet().await;
        self.causes.look(&runtime, &kubelet).await;
        let credential = credential::check(Path::new(KUBELET_CONF), &kubelet);
        let kubeadm = self.kubeadm(id).await;
        self.checked.round().await;
        let started = self.sandbox.now();
        let (runtime, of_runtime) = self.causes.of_runtime(runtime);
        let (kubelet, of_kubelet) = self.causes.of_kubelet(kubelet);
        Local {
            runtime,
            kubelet,
            sandbox: started.sandbox,
            pod_network: started.network,
            credential,
            kubeadm,
            network: self.network.now(),
            required: self.required(),
            units: self.units.round().await,
            system: self.system.round().await,
            settings: self.system.settings(),
            limits: self.system.limits(),
            kernel: self.system.kernel(),
            causes: self.causes(id, [of_runtime, of_kubelet]),
        }
    }

    /// A machine without a cluster has no kubelet that could run.
    async fn kubelet(&self) -> Check {
        match self.joined {
            true => kubelet::check().await,
            false => Check::Pass,
        }
    }

    async fn kubeadm(&self, id: &UpgradeId) -> Check {
        match self.joined {
            true => kubeadm::check(id).await,
            false => Check::Pass,
        }
    }

    fn required(&self) -> Vec<(String, Check)> {
        let own = [(CHECK_UNIT.to_owned(), self.checked.check.clone())];
        own.into_iter().chain(self.required.results()).collect()
    }

    fn causes(&self, id: &UpgradeId, [runtime, kubelet]: [Cause; 2]) -> Causes {
        let own = [self.checked.cause];
        Causes {
            runtime,
            kubelet,
            kubeadm: kubeadm::cause(id),
            required: own.into_iter().chain(self.required.causes()).collect(),
        }
    }
}

/// What the old system did not do either is reported, and decides nothing. Only a policy that did
/// not demand it before the drain, or an older agent, has noted that.
fn demanded(demand: Demand, was_refused: bool) -> Demand {
    if was_refused && demand == Demand::Require {
        return Demand::Warn;
    }
    demand
}

/// While no report can reach the Node, the journal says why the kubelet does not start.
fn tell(before: Option<&Local>, now: &Local) {
    let changed = before.is_none_or(|before| before.credential != now.credential);
    if let Check::Fail(why) = &now.credential
        && changed
    {
        tracing::warn!("{why}; the trial does not fail because of it");
    }
    let changed = before.map_or(Ok(()), |before| before.network.clone()) != now.network;
    if let Err(why) = &now.network
        && changed
    {
        tracing::warn!("{why}; so the agent does not know whether the API server is up");
    }
}

/// Looks whether the kubelet and the runtime of the old system listen where a trial asks them, and
/// runs the operator's required checks, before the node is taken from its users. What fails here
/// fails in the trial as well.
///
/// # Errors
/// [`Reason::UnhealthyBefore`] with the first check that does not pass, if the policy demands it.
pub async fn rehearse(root: &Path, policy: &Policy) -> Result<(), Reason> {
    if policy.health.rehearse == Demand::Off {
        return Ok(());
    }
    // The services of another root cannot be asked.
    if root == Path::new("/") {
        demand(addresses::rehearse().await, policy)?;
    }
    demand(operators_checks(root, policy).await, policy)
}

async fn operators_checks(root: &Path, policy: &Policy) -> Result<(), Reason> {
    let [_, operators] = REQUIRED;
    let folder = root.join(operators.trim_start_matches('/'));
    let mut checks = UserChecks::rehearsed(root, &folder, &policy.health);
    checks.until_settled(AGAIN).await;
    let mut results = checks.results().into_iter();
    let amiss = results.find_map(|(check, result)| match result {
        Check::Pass => None,
        Check::Pending(detail) | Check::Fail(detail) | Check::Broken(detail) => {
            Some(Reason::UnhealthyBefore { check, detail })
        }
    });
    amiss.map_or(Ok(()), Err)
}

/// Checks that the operator's required checks may run. The running image's checks are left out,
/// because the next image brings its own. A folder that others may write is at fault even if it is
/// empty: they may have removed a check.
///
/// # Errors
/// [`Reason::CheckUntrusted`] with the first check that may not run.
pub fn may_be_run(root: &Path) -> Result<(), Reason> {
    let [_, operators] = REQUIRED;
    let folder = root.join(operators.trim_start_matches('/'));
    let found = programs::find_checks(std::slice::from_ref(&folder)).into_iter();
    let mut all = found.chain(programs::folder(&folder));
    let amiss = all.find_map(|(name, program)| Some((name, program.fault?)));
    amiss.map_or(Ok(()), |(name, detail)| {
        Err(Reason::CheckUntrusted { name, detail })
    })
}

fn paths(folders: [&str; 2]) -> Vec<PathBuf> {
    folders.into_iter().map(PathBuf::from).collect()
}

/// Runs the wanted checks once the node runs. They may outlive the verdict, but not the time limit
/// of a trial. A check that cannot be run has no result.
async fn report_wanted(policy: Arc<Policy>, mut found: watch::Receiver<Option<Local>>) {
    let runs = |found: &Option<Local>| found.as_ref().is_some_and(Local::runs);
    if found.wait_for(runs).await.is_ok() {
        let wanted = UserChecks::read(&paths(WANTED), &policy.health, check::PACE);
        let limit = Duration::from_secs(limits::trial(&policy.health, None));
        let _ = tokio::time::timeout(limit, until_settled(wanted)).await;
    }
}

async fn until_settled(mut wanted: UserChecks) {
    while !wanted.are_settled() {
        let tell = |name: &str, why: &str| {
            tracing::warn!("wanted check {name} failed (this does not change the verdict): {why}");
        };
        wanted.round_telling(tell).await;
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn sandbox_that_the_note_excuses_decides_nothing() {
        assert_eq!(demanded(Demand::Require, true), Demand::Warn);
        assert_eq!(demanded(Demand::Require, false), Demand::Require);
        assert_eq!(demanded(Demand::Off, true), Demand::Off);
    }

    /// What the rehearsal says of a check with this script, and of one of the image that fails.
    async fn rehearsed(script: &str, demand: Demand) -> Result<(), Reason> {
        let root = tempfile::tempdir().unwrap();
        let write = |folder: &str, name: &str, script: &str| {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for folder in ["etc/careen/required.d", "usr/etc/careen/required.d"] {
            write(folder, "10-image", "exit 1");
        }
        write("usr/lib/careen/required.d", "20-image", "exit 1");
        write("etc/careen/required.d", "50-storage", script);
        let mut policy = Policy::default();
        policy.health.rehearse = demand;
        policy.health.check_tries = 2;
        rehearse(root.path(), &policy).await
    }

    #[tokio::test]
    async fn check_that_fails_on_the_old_system_is_named_before_the_drain() {
        let script = "echo 'no /dev/sdb'; exit 1";
        let reason = rehearsed(script, Demand::Require).await.unwrap_err();
        let Reason::UnhealthyBefore { check, detail } = &reason else {
            panic!("{reason}");
        };
        assert_eq!(check, "50-storage");
        assert_eq!(detail, "no /dev/sdb (exit status 1)");
        for demand in [Demand::Warn, Demand::Off] {
            assert_eq!(rehearsed(script, demand).await, Ok(()));
        }
        let once = "test -e $0.ran || { touch $0.ran; exit 1; }";
        for script in ["exit 0", once] {
            assert_eq!(rehearsed(script, Demand::Require).await, Ok(()), "{script}");
        }
    }

    #[test]
    fn only_operator_checks_writable_by_others_are_untrusted() {
        let root = tempfile::tempdir().unwrap();
        let write = |folder: &str, mode| {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join("50-storage");
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(may_be_run(root.path()), Ok(()), "there is none");
        write("usr/lib/careen/required.d", 0o777);
        assert_eq!(may_be_run(root.path()), Ok(()));
        write("etc/careen/required.d", 0o755);
        assert_eq!(may_be_run(root.path()), Ok(()));
        write("etc/careen/required.d", 0o777);
        let Err(Reason::CheckUntrusted { name, detail }) = may_be_run(root.path()) else {
            panic!("it is let through");
        };
        assert_eq!(name, "50-storage");
        assert!(detail.contains("mode 0777"), "{detail}");
        write("etc/careen/required.d", 0o644);
        let Err(Reason::CheckUntrusted { detail, .. }) = may_be_run(root.path()) else {
            panic!("it is let through");
        };
        assert!(
            detail.contains("50-storage is not executable (mode 0644)"),
            "{detail}"
        );
    }

    #[test]
    fn an_empty_folder_of_checks_that_others_may_write_is_told() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("etc/careen/required.d");
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(may_be_run(root.path()), Ok(()));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o775)).unwrap();
        let Err(Reason::CheckUntrusted { name, detail }) = may_be_run(root.path()) else {
            panic!("it is let through");
        };
        assert_eq!(name, "required.d");
        assert!(detail.contains("chmod go-w"), "{detail}");
    }
}
