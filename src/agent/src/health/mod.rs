//! The checks of a trial that need no API server, run until there is a verdict.
//!
//! "Could not check" is never "bad": what could not be looked at is pending, and the deadline decides.

mod kubelet;
mod runtime;
mod user;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use upgrade::observe::Check;
use upgrade::{Policy, UpgradeId};

use crate::hands::Local;
use crate::kubeadm;

pub use user::UserChecks;

/// Pause between two rounds. Only while a trial waits for its verdict.
const PAUSE: Duration = Duration::from_secs(2);

/// containerd's socket.
const RUNTIME: &str = "/run/containerd/containerd.sock";

/// Folders of user checks, the operator's after the image's: a file of the same name replaces it.
const REQUIRED: [&str; 2] = ["/usr/lib/careen/required.d", "/etc/careen/required.d"];

/// As [`REQUIRED`], for checks that are reported and decide nothing.
const WANTED: [&str; 2] = ["/usr/lib/careen/wanted.d", "/etc/careen/wanted.d"];

/// Checks for ever; `found` gets what changes.
pub async fn run(id: &UpgradeId, policy: Arc<Policy>, found: watch::Sender<Option<Local>>) {
    let mut required = UserChecks::read(&paths(REQUIRED), &policy.health);
    let mut wanted = UserChecks::read(&paths(WANTED), &policy.health);
    loop {
        let runtime = runtime::check(Path::new(RUNTIME)).await;
        let kubelet = kubelet::check().await;
        let kubeadm = kubeadm::check(id).await;
        // User checks ask about a node that runs; before that they would only use up their tries.
        if runtime == Check::Pass && kubelet == Check::Pass {
            required.round().await;
            wanted.round().await;
        }
        let now = Local {
            runtime,
            kubelet,
            kubeadm,
            required: required.results(),
        };
        found.send_if_modified(|before| {
            let changed = before.as_ref() != Some(&now);
            *before = Some(now);
            changed
        });
        report_wanted(&mut wanted);
        tokio::time::sleep(PAUSE).await;
    }
}

fn paths(folders: [&str; 2]) -> Vec<PathBuf> {
    folders.into_iter().map(PathBuf::from).collect()
}

fn report_wanted(wanted: &mut UserChecks) {
    for (name, why) in wanted.newly_broken() {
        tracing::warn!("wanted check {name} failed (this decides nothing): {why}");
    }
}
