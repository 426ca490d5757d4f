//! Whether the container runtime can start a new pod: its sandbox, and a network for it. A node
//! whose runtime cannot stays Ready, and its pods stay `ContainerCreating` (awslabs/amazon-eks-ami,
//! issue 2729).

mod request;

use std::time::Duration;

use cri::Outcome;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use upgrade::observe::Check;
use upgrade::policy::Demand;

pub use request::{SandboxRequest, Wanted};

/// The time limit of one try: the kubelet's own for a sandbox (kubernetes,
/// staging/src/k8s.io/cri-client, twice `runtimeRequestTimeout`, 2 min). The runtime may pull the
/// sandbox's image meanwhile.
pub const LIMIT: Duration = Duration::from_secs(240);

/// From a try that did not pass to the next one. A network often comes with a pod of its own, which
/// takes some seconds to start.
const PAUSE: Duration = Duration::from_secs(10);

/// What is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// A sandbox starts.
    pub sandbox: Check,
    /// A sandbox gets an address.
    pub network: Check,
}

impl Found {
    fn unknown(why: &str) -> Self {
        let pending = || Check::Pending(why.to_owned());
        Self {
            sandbox: pending(),
            network: pending(),
        }
    }

    /// As it counts after the runtime has refused for this time: a refusal that may pass is no
    /// failure yet.
    fn after(self, refused: Duration, patience: Duration) -> Self {
        if refused >= patience {
            return self;
        }
        let for_now = |check: Check| match check {
            Check::Fail(why) => Check::Pending(format!("{why}; the runtime is asked again")),
            Check::Pass | Check::Pending(_) | Check::Broken(_) => check,
        };
        Self {
            sandbox: for_now(self.sandbox),
            network: for_now(self.network),
        }
    }

    const fn passed() -> Self {
        Self {
            sandbox: Check::Pass,
            network: Check::Pass,
        }
    }
}

impl From<Outcome> for Found {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Starts => Self::passed(),
            Outcome::WithoutNetwork(why) => Self {
                sandbox: Check::Pass,
                network: Check::Fail(why),
            },
            Outcome::No(why) => Self {
                sandbox: Check::Fail(why),
                network: Check::Pending("no pod sandbox starts".to_owned()),
            },
            Outcome::Unknown(why) => Self::unknown(&why),
        }
    }
}

/// The tries of one trial, concurrent with its other checks, because one may take minutes.
pub struct Sandbox {
    demand: Demand,
    asked: SandboxRequest,
    /// From a pass to the next try; `None` if one pass is enough.
    repeats: Option<Duration>,
    found: watch::Sender<Found>,
    task: Option<JoinHandle<()>>,
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Sandbox {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new(demand: Demand, asked: SandboxRequest, repeats: Option<Duration>) -> Self {
        let found = watch::Sender::new(Found::unknown("no pod sandbox was started yet"));
        Self {
            demand,
            asked,
            repeats,
            found,
            task: None,
        }
    }

    /// Begins to ask, once, unless the policy asks for nothing. The caller waits for the kubelet,
    /// because its cgroups are those of the sandbox.
    pub fn begin(&mut self) {
        if self.task.is_some() || self.demand == Demand::Off {
            return;
        }
        let (asked, found, demand) = (self.asked.clone(), self.found.clone(), self.demand);
        let repeats = self.repeats;
        let tries = async move {
            found.send_replace(Found::unknown("the container runtime has not answered yet"));
            loop {
                until_it_passes(&asked, &found, demand).await;
                let Some(pause) = repeats else { return };
                tokio::time::sleep(pause).await;
            }
        };
        self.task = Some(tokio::spawn(tries));
    }

    /// The latest result, as far as the policy wants it judged.
    #[must_use]
    pub fn now(&self) -> Found {
        match self.demand {
            Demand::Require => self.found.borrow().clone(),
            Demand::Warn | Demand::Off => Found::passed(),
        }
    }
}

async fn until_it_passes(asked: &SandboxRequest, found: &watch::Sender<Found>, demand: Demand) {
    let mut refused: Option<Instant> = None;
    loop {
        let now = Found::from(asked.once(LIMIT).await);
        let since = refused.get_or_insert_with(Instant::now).elapsed();
        let now = now.after(since, asked.patience);
        let passed = now == Found::passed();
        found.send_if_modified(|before| {
            let changed = *before != now;
            if changed {
                tell(&now, demand);
            }
            before.clone_from(&now);
            changed
        });
        if passed {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn tell(now: &Found, demand: Demand) {
    let decides = match demand {
        Demand::Require => "",
        Demand::Warn | Demand::Off => " (this does not change the verdict)",
    };
    for (what, check) in [("pod sandbox", &now.sandbox), ("pod network", &now.network)] {
        if let Check::Fail(why) = check {
            tracing::warn!("{what}{decides}: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use upgrade::serving::Serving;

    use super::*;

    /// A probe that is this script.
    fn asked(folder: &tempfile::TempDir, script: &str) -> SandboxRequest {
        let program = folder.path().join("careen-deploy");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        SandboxRequest {
            program,
            socket: "/nowhere".into(),
            network: Wanted::Nothing,
            patience: Duration::ZERO,
        }
    }

    async fn outcome(script: &str) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        asked(&folder, script).once(Duration::from_secs(1)).await
    }

    #[tokio::test]
    async fn probe_that_crashes_or_hangs_is_told_apart_from_a_no() {
        let no = outcome("echo no such image >&2; exit 1").await;
        assert_eq!(no, Outcome::No("no such image".to_owned()));
        let long = "echo \"image pause:9.9$(printf '%2000s')no such host\" >&2; exit 1";
        let Outcome::No(why) = outcome(long).await else {
            panic!("it starts");
        };
        assert!(why.starts_with("image pause:9.9 …"), "{why}");
        assert!(why.ends_with("… no such host"), "{why}");
        let crashed = outcome("kill -SEGV $$").await;
        assert!(matches!(crashed, Outcome::Unknown(_)), "{crashed:?}");
        let late = outcome("exec sleep 1000").await;
        let why = "the runtime gave no answer in 1 s".to_owned();
        assert_eq!(late, Outcome::No(why));
    }

    #[tokio::test]
    async fn result_of_a_probe_is_judged_as_the_policy_says() {
        let folder = tempfile::tempdir().unwrap();
        let ran = folder.path().join("ran");
        let script = format!("touch {}; echo gone >&2; exit 1", ran.display());
        for (demand, judged, runs) in [
            (Demand::Require, Check::Fail("gone".to_owned()), true),
            (Demand::Warn, Check::Pass, true),
            (Demand::Off, Check::Pass, false),
        ] {
            let mut sandbox = Sandbox::new(demand, asked(&folder, &script), None);
            let mut found = sandbox.found.subscribe();
            sandbox.begin();
            if runs {
                let fails = |found: &Found| matches!(found.sandbox, Check::Fail(_));
                found.wait_for(fails).await.unwrap();
            }
            assert_eq!((sandbox.now().sandbox, ran.exists()), (judged, runs));
            let _ = fs::remove_file(&ran);
        }
    }

    #[tokio::test]
    async fn sandbox_that_started_is_asked_for_again() {
        let folder = tempfile::tempdir().unwrap();
        let once = "test ! -e $0.asked || { echo gone >&2; exit 1; }; touch $0.asked";
        let repeats = Some(Duration::from_millis(1));
        let mut sandbox = Sandbox::new(Demand::Require, asked(&folder, once), repeats);
        let mut found = sandbox.found.subscribe();
        sandbox.begin();
        found
            .wait_for(|found| found.sandbox == Check::Pass)
            .await
            .unwrap();
        let fails = |found: &Found| matches!(found.sandbox, Check::Fail(_));
        found.wait_for(fails).await.unwrap();
    }

    #[test]
    fn refusal_counts_only_after_a_minute_of_refusals() {
        let found = || Found::from(Outcome::No("pulling the image: timeout".to_owned()));
        let patience = SandboxRequest::of_this_node(Wanted::Nothing).patience;
        assert_eq!(patience, Duration::from_secs(60));
        let early = found().after(Duration::from_secs(59), patience);
        let Check::Pending(why) = &early.sandbox else {
            panic!("{early:?}");
        };
        assert!(why.starts_with("pulling the image: timeout"), "{why}");
        assert_eq!(found().after(patience, patience), found());
        assert_eq!(
            Found::passed().after(Duration::ZERO, patience),
            Found::passed()
        );
    }

    #[tokio::test]
    async fn sandbox_that_is_refused_at_first_and_then_starts_passes() {
        let folder = tempfile::tempdir().unwrap();
        let later = "test -e $0.asked || { touch $0.asked; echo timeout >&2; exit 1; }";
        let asked = SandboxRequest {
            patience: Duration::from_secs(60),
            ..asked(&folder, later)
        };
        let mut sandbox = Sandbox::new(Demand::Require, asked, None);
        let mut found = sandbox.found.subscribe();
        sandbox.begin();
        let fails = |found: &Found| matches!(found.sandbox, Check::Fail(_));
        let ends = |found: &Found| fails(found) || found.sandbox == Check::Pass;
        assert!(!fails(&found.wait_for(ends).await.unwrap()));
    }

    /// What a trial finds where the runtime says this of a network of the sandbox's own, after an
    /// old system whose runtime said that.
    async fn network_after(old: &str, script: &str) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let with_network = format!("case $* in *--network*) {script};; esac");
        let served = Serving {
            network_refusal: Some(old.to_owned()),
            ..Serving::default()
        };
        let asked = SandboxRequest {
            network: Wanted::of(&served),
            ..asked(&folder, &with_network)
        };
        Found::from(asked.once(Duration::from_secs(1)).await)
    }

    #[tokio::test]
    async fn plugin_that_the_runtime_does_not_find_fails_the_trial() {
        let gone = "failed to find plugin \"calico\" in path [/usr/libexec/cni]";
        let refused = "pods \"careen-probe\" not found";
        let says = |why: &str| format!("echo '{why}' >&2; exit 3");
        let found = network_after(refused, &says(gone)).await;
        assert_eq!(found.sandbox, Check::Pass);
        assert_eq!(found.network, Check::Fail(gone.to_owned()));
        for (old, script) in [
            (gone, says(gone)),
            (refused, says(refused)),
            (refused, "exec sleep 1000".to_owned()),
        ] {
            assert_eq!(
                network_after(old, &script).await,
                Found::passed(),
                "{script}"
            );
        }
    }

    #[test]
    fn trial_wants_of_the_network_what_the_old_system_had() {
        let refusal = |why: &str| Some(why.to_owned());
        for (pod_network, network_refusal, wanted) in [
            (false, None, Wanted::Nothing),
            (false, refusal("no pod"), Wanted::Plugins),
            (false, refusal("failed to find plugin"), Wanted::Nothing),
            (true, refusal("no pod"), Wanted::Address),
            (true, None, Wanted::Address),
        ] {
            let served = Serving {
                pod_network,
                network_refusal,
                ..Serving::default()
            };
            assert_eq!(Wanted::of(&served), wanted, "{served:?}");
        }
    }

    #[test]
    fn network_is_judged_apart_from_the_sandbox() {
        let why = || "no address".to_owned();
        let found = Found::from(Outcome::WithoutNetwork(why()));
        assert_eq!(found.sandbox, Check::Pass);
        assert_eq!(found.network, Check::Fail(why()));
        let found = Found::from(Outcome::No(why()));
        assert_eq!(found.sandbox, Check::Fail(why()));
        assert!(matches!(found.network, Check::Pending(_)), "{found:?}");
    }
}
