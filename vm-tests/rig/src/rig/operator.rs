//! What an operator looks at to see the state of a node: the doctor, the journal by its fields, the
//! logs of its pods.

mod kubelet;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use upgrade::exit;

use super::Rig;
use crate::node::NAME;

const DOCTOR: &str = "/usr/libexec/careen/careen-agent doctor --json 2>/dev/null";

/// The doctor unpacks the initramfs, which takes time under emulation.
const EXAMINATION: Duration = Duration::from_secs(300);

/// The part of the doctor's output that the rig reads.
#[derive(Debug, Deserialize)]
struct Findings {
    verdict: String,
    checks: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    name: String,
    verdict: String,
    found: String,
}

impl Rig {
    /// Checks that the doctor finds nothing bad and that its exit code matches its worst finding.
    ///
    /// # Errors
    ///
    /// Fails when the doctor finds a problem or does not run.
    pub async fn expect_doctor_content(&mut self) -> Result<()> {
        self.progress.step("asking the doctor");
        let output = self.guest.try_run(DOCTOR, EXAMINATION).await?;
        let found: Findings = serde_json::from_str(&output.text).with_context(|| {
            let code = output.code;
            format!("the doctor, with exit code {code}, says {:?}", output.text)
        })?;
        ensure!(!found.checks.is_empty(), "the doctor looked at nothing");
        let bad = found.checks.iter().filter(|check| check.verdict == "bad");
        let bad: Vec<_> = bad
            .map(|check| format!("{}: {}", check.name, check.found))
            .collect();
        ensure!(bad.is_empty(), "the doctor finds bad: {bad:#?}");
        let wanted = match found.verdict.as_str() {
            "ok" => exit::DONE,
            _ => exit::LOOK,
        };
        ensure!(
            output.code == i32::from(wanted),
            "the doctor says {} and exits with {}",
            found.verdict,
            output.code
        );
        Ok(())
    }

    /// Checks that the journal has entries of the agent with these fields, which the docs name.
    /// Each entry must also name the node.
    ///
    /// # Errors
    ///
    /// Fails when there is no entry, or an entry has other fields.
    pub async fn expect_journal(&mut self, fields: &[(&str, &str)]) -> Result<()> {
        let matches = fields
            .iter()
            .map(|(field, value)| format!("{field}={value}"));
        let matches = matches.collect::<Vec<_>>().join(" ");
        let read = format!("journalctl --quiet --unit careen-agent --output json {matches}");
        // The agent updates the Node before it writes to the journal.
        self.wait_guest(&format!("until {read} | grep -q .; do sleep 1; done"))
            .await?;
        for line in self.guest.run(&read).await?.lines() {
            let entry: Value = serde_json::from_str(line)?;
            for &(field, value) in fields.iter().chain(&[("NODE", NAME)]) {
                ensure!(
                    entry[field] == value,
                    "the journal has {} as {field}, not {value}: {line}",
                    entry[field]
                );
            }
        }
        Ok(())
    }
}
