//! The units of an ordering cycle for which systemd dropped a unit from this boot. Only its journal
//! tells (systemd, src/core/transaction.c, `transaction_verify_order_one`).

use std::time::Duration;

use host::programs::Program;
use tokio::process::Command;

use crate::health::output::{self, Run};

/// The time limit of journalctl.
const LIMIT: Duration = Duration::from_secs(10);

/// How systemd names a unit of a cycle.
const NAMED: [&str; 3] = ["ordering cycle", "Found dependency on", "Breaking order"];

/// Asks the journal of this boot. `None` if it does not answer, or has nothing of systemd's: a node
/// may keep no journal.
pub(super) async fn units() -> Option<Vec<String>> {
    // Only the end of the output is kept, and the cycle is told early.
    let text = journal(&["--reverse", "--priority=warning"]).await?;
    let kept = !text.is_empty() || !journal(&["--lines=1"]).await?.is_empty();
    kept.then(|| named(&text))
}

/// What systemd has said in this boot.
async fn journal(which: &[&str]) -> Option<String> {
    let mut command = Command::from(Program::Journalctl.command().ok()?);
    command.args(["--quiet", "--no-pager", "--boot", "--output=cat"]);
    command.arg("--identifier=systemd").args(which);
    match output::within(LIMIT, &mut command).await {
        Run::Ended(said) if said.output.status.success() => {
            Some(String::from_utf8_lossy(&said.output.stdout).into_owned())
        }
        Run::Ended(_) | Run::Late(_) | Run::Not(_) => None,
    }
}

/// The units in these lines: `Found dependency on site.service/start`.
fn named(text: &str) -> Vec<String> {
    let lines = text.lines();
    let lines = lines.filter(|line| NAMED.iter().any(|words| line.contains(words)));
    let words = lines.flat_map(str::split_whitespace);
    let jobs = words.filter_map(|word| word.rsplit_once('/'));
    let mut units: Vec<_> = jobs.map(|(unit, _)| unit.to_owned()).collect();
    units.sort();
    units.dedup();
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_a_cycle_are_read_from_the_journal() {
        let text = "site.service: Found ordering cycle on careen-check.service/start\n\
                    site.service: Found dependency on local-fs.target/start\n\
                    site.service: Found dependency on site.service/start\n\
                    site.service: Job careen-check.service/start deleted to break ordering cycle starting with site.service/start\n\
                    other.service: see /etc/other\n";
        let units = ["careen-check.service", "local-fs.target", "site.service"];
        assert_eq!(named(text), units);
    }
}
