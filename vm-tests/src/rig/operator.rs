//! What an operator looks at to see how the node is: the doctor, the journal by its fields, the logs of its pods.

mod kubelet;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use upgrade::exit;

use super::Rig;
use crate::node::NAME;

const DOCTOR: &str = "/usr/libexec/careen/careen-agent doctor --json 2>/dev/null";

/// It unpacks the initramfs, which takes its time under emulation.
const EXAMINATION: Duration = Duration::from_secs(300);

/// What the doctor prints, as far as it is looked at here.
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
    /// The doctor finds nothing bad, and exits as the worst that it has found demands.
    ///
    /// # Errors
    /// When it finds something, or does not look.
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

    /// The journal gives entries of the agent when it is asked by these fields, which the docs name, and each says whose node it is.
    ///
    /// # Errors
    /// When there is none, or one has other fields.
    pub async fn expect_journal(&mut self, fields: &[(&str, &str)]) -> Result<()> {
        let matches = fields
            .iter()
            .map(|(field, value)| format!("{field}={value}"));
        let matches = matches.collect::<Vec<_>>().join(" ");
        let read = format!("journalctl --quiet --unit careen-agent --output json {matches}");
        // The Node is told before the journal is.
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
