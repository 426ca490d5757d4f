//! The units of an ordering cycle for which systemd dropped a unit from this boot. Only its journal
//! tells (systemd, src/core/transaction.c, `transaction_verify_order_one`).

use std::time::Duration;

use host::programs::Program;
use tokio::process::Command;

use crate::health::output::{self, Run};

/// The time limit of journalctl. A late one shows no cycle.
const LIMIT: Duration = Duration::from_secs(10);

/// How systemd names a unit of a cycle.
const NAMED: [&str; 3] = ["ordering cycle", "Found dependency on", "Breaking order"];

/// Asks the journal of this boot. Only the end of the output is kept, and the cycle is told early.
pub(super) async fn units() -> Vec<String> {
    let Ok(command) = Program::Journalctl.command() else {
        return Vec::new();
    };
    let mut command = Command::from(command);
    command.args([
        "--quiet",
        "--no-pager",
        "--boot",
        "--output=cat",
        "--reverse",
    ]);
    command.args(["--identifier=systemd", "--priority=warning"]);
    match output::within(LIMIT, &mut command).await {
        Run::Ended(said) => named(&String::from_utf8_lossy(&said.output.stdout)),
        Run::Late(_) | Run::Not(_) => Vec::new(),
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
