//! The log as text, and the file with which a test compares it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testkit::cluster_api::objects;

use super::words::Who;
use super::{Decisions, Line, lock};

/// After this time without a new line, the log is complete.
const QUIET: Duration = Duration::from_secs(5);

/// How late the last lines may arrive.
const LATE: Duration = Duration::from_secs(30);

impl Decisions {
    /// Compares the log with the file of this name, or rewrites the file.
    ///
    /// # Errors
    /// When they differ. The error contains the log.
    pub async fn held_against(&self, name: &str) -> Result<()> {
        let file = place(name)?;
        if std::env::var_os("CAREEN_BLESS").is_some() {
            std::fs::write(&file, self.settled().await)?;
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        let same = || async {
            let seen = self.text();
            ensure!(
                seen == written,
                "{} has drifted (CAREEN_BLESS=1 writes it again); this was decided:\n{seen}",
                file.display()
            );
            Ok(())
        };
        objects::until(name, LATE, same).await
    }

    async fn settled(&self) -> String {
        let mut before = self.text();
        loop {
            tokio::time::sleep(QUIET).await;
            let now = self.text();
            if now == before {
                return now;
            }
            before = now;
        }
    }

    /// All decisions so far.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = lock(&self.log).lines.clone();
        lines.sort_by_key(|line| line.revision);
        render(&lines)
    }
}

fn place(name: &str) -> Result<PathBuf> {
    let tree = std::env::var("CARGO_MANIFEST_DIR").context("run it with cargo")?;
    Ok(Path::new(&tree).join(format!("tests/cluster_api/golden/{name}.log")))
}

fn render(lines: &[Line]) -> String {
    let mut order: Vec<&str> = Vec::new();
    for line in lines {
        if !order.contains(&line.machine.as_str()) {
            order.push(&line.machine);
        }
    }
    let mut text = String::new();
    for (place, machine) in order.iter().enumerate() {
        for who in Who::ALL {
            // A write to a String does not fail.
            let _ = writeln!(text, "machine {}, {}", place + 1, who.name());
            let said = lines
                .iter()
                .filter(|line| line.machine == *machine && line.who == who);
            for line in said {
                let _ = writeln!(text, "  {}", line.text.trim_end_matches(": "));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(revision: u64, machine: &str, who: Who, text: &str) -> Line {
        Line {
            revision,
            machine: machine.to_owned(),
            who,
            text: text.to_owned(),
        }
    }

    #[test]
    fn machines_are_numbered_by_arrival_with_lines_per_component() {
        let lines = [
            line(1, "w-x", Who::Core, "begins v2"),
            line(2, "w-x", Who::Agent, "InProgress"),
            line(3, "w-a", Who::Core, "begins v2"),
            line(4, "w-x", Who::Provider, "InplaceUpgrade True Upgraded: "),
        ];
        let expected = "machine 1, core\n  begins v2\nmachine 1, careen-provider\n  InplaceUpgrade True Upgraded\n\
            machine 1, agent\n  InProgress\nmachine 2, core\n  begins v2\nmachine 2, careen-provider\nmachine 2, agent\n";
        assert_eq!(render(&lines), expected);
    }
}
