//! What is logged, and where. Under systemd the log goes to the journal with searchable fields,
//! otherwise to stderr as lines.
//!
//! `journalctl -u careen-agent PHASE=Trial`, `REASON=Unhealthy`, `UPGRADE_ID=…`: the fields are
//! separate from the message, which reads the same in both.

use std::os::fd::AsFd;

use nix::sys::stat::fstat;
use tracing::level_filters::LevelFilter;
use tracing::{info, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use upgrade::{Outcome, Report, UpgradeId};

use crate::report::sentence;

/// Where systemd says which stream leads to the journal (systemd.exec(5)): device and inode.
const STREAM: &str = "JOURNAL_STREAM";

/// Starts logging.
pub fn start(filter: LevelFilter) {
    let stream = std::env::var(STREAM).ok();
    if is_journal(stream.as_deref(), std::io::stderr())
        && let Ok(journal) = tracing_journald::layer()
    {
        // Without the prefix, the fields have their documented names. journald drops names that
        // only journald may set.
        let journal = journal.with_field_prefix(None);
        tracing_subscriber::registry()
            .with(targets(filter))
            .with(journal)
            .init();
        return;
    }
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .with_ansi(false);
    tracing_subscriber::registry()
        .with(targets(filter))
        .with(lines)
        .init();
}

/// The crates that log each failed connection. The agent says itself that the server is away, with
/// the subject and once.
const TALKATIVE: [&str; 6] = [
    "kube_client",
    "kube_runtime",
    "hyper",
    "hyper_util",
    "rustls",
    "tower",
];

/// What is logged. No filter by expressions: a regex engine would be a tenth of this program. A
/// person who asks for more than the usual wants the libraries too.
fn targets(filter: LevelFilter) -> Targets {
    let all = Targets::new().with_default(filter);
    if filter > LevelFilter::INFO {
        return all;
    }
    let off = TALKATIVE.map(|name| (name, LevelFilter::OFF));
    all.with_targets(off)
}

/// Whether this stream leads to the journal. A program started by hand from a service's shell has
/// another stream.
fn is_journal(stream: Option<&str>, output: impl AsFd) -> bool {
    let (Some(stream), Ok(found)) = (stream, fstat(output)) else {
        return false;
    };
    stream == format!("{}:{}", found.st_dev, found.st_ino)
}

/// Logs each phase and each reason once.
#[derive(Debug, Default)]
pub struct Chronicle {
    told: Option<(String, Option<String>)>,
}

impl Chronicle {
    /// Logs what the agent reports to the Node, if the phase or the reason changed.
    pub fn tell(&mut self, report: &Report, node: Option<&str>) {
        let status = &report.status;
        let code = report.now().map(upgrade::Reason::code);
        // A report that was read back has only the code.
        let code = code.or_else(|| status.code.clone());
        let now = (status.phase.clone(), code.clone());
        if self.told.as_ref() == Some(&now) {
            return;
        }
        let upgrade_id = status.id.as_ref().map(upgrade::UpgradeId::as_str);
        let (phase, reason) = (status.phase.as_str(), code.as_deref());
        let said = match sentence(report) {
            // If there is nothing to add.
            same if same == phase => same,
            more => format!("{phase}: {more}"),
        };
        if reason.is_some() {
            warn!(node, upgrade_id, phase, reason, "{said}");
        } else {
            info!(node, upgrade_id, phase, "{said}");
        }
        self.told = Some(now);
    }
}

/// Logs one step. Each entry names the node and the upgrade, so that a search by either also finds
/// the step's end.
#[derive(Clone, Debug)]
pub struct StepStory {
    /// The Node's name, as far as it is known.
    pub node: Option<String>,
    /// The upgrade that it is for.
    pub id: Option<UpgradeId>,
    /// Its name.
    pub step: &'static str,
}

impl StepStory {
    /// Logs that the step begins.
    pub fn begins(&self) {
        let (node, upgrade_id, step) = self.fields();
        info!(node, upgrade_id, step, "step={step} begin");
    }

    /// Logs that the step has ended.
    pub fn ends(&self, outcome: &Outcome) {
        let (node, upgrade_id, step) = self.fields();
        match outcome {
            Outcome::Done(_) => info!(node, upgrade_id, step, "step={step} end: done"),
            Outcome::Cancelled => info!(node, upgrade_id, step, "step={step} end: cancelled"),
            Outcome::Failed(why) => {
                let reason = why.code();
                warn!(node, upgrade_id, step, reason, "step={step} end: {why}");
            }
        }
    }

    fn fields(&self) -> (Option<&str>, Option<&str>, &'static str) {
        let id = self.id.as_ref().map(UpgradeId::as_str);
        (self.node.as_deref(), id, self.step)
    }
}

#[cfg(test)]
mod tests;
