//! Checks whether the Node says what the record says.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::{Instant, sleep};
use upgrade::{Reason, Record};

use super::Rig;
use crate::node::View;

/// How long the Node may lag behind the record.
const BEHIND: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_secs(2);

impl Rig {
    /// Checks that the Node says what the record says, now or soon.
    ///
    /// # Errors
    ///
    /// Fails when it does not, or the guest does not answer.
    pub async fn expect_told_as_recorded(&mut self) -> Result<()> {
        let deadline = Instant::now() + BEHIND;
        loop {
            let record = self.record().await?;
            let told = expect_same(&record, &self.node.now());
            if told.is_ok() || Instant::now() >= deadline {
                return told;
            }
            sleep(PAUSE).await;
        }
    }
}

/// Checks that the Node says what the record says.
///
/// # Errors
///
/// Fails when it does not.
pub fn expect_same(record: &Record, view: &View) -> Result<()> {
    let up = record.upgrade.as_ref();
    let up = up.context("the record knows of no upgrade")?;
    let status = view.status.as_ref();
    let status = status.context("the Node has no status")?;
    let code = up.phase.failure().map(Reason::code);
    let recorded = (Some(&up.id), up.phase.name(), up.attempt.tries, &code);
    let told = (
        status.id.as_ref(),
        status.phase.as_str(),
        status.tries,
        &status.code,
    );
    ensure!(
        recorded == told,
        "the record says {recorded:?}, the Node {told:?}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use upgrade::Phase;
    use upgrade::report::Status;

    /// A node's record of a failed upgrade.
    const RECORD: &str = include_str!("../../../../src/host/tests/samples/v1-failed");

    #[test]
    fn a_node_that_says_something_else_than_the_record_is_found() {
        // The record's checksum follows the JSON.
        let mut record = serde_json::Deserializer::from_str(RECORD).into_iter::<Record>();
        let record = record.next().unwrap().unwrap();
        let up = record.upgrade.clone().unwrap();
        let Phase::Failed { reason } = &up.phase else {
            panic!("{:?}", up.phase);
        };
        let says = |phase: &str, code: String| View {
            status: Some(Status {
                id: Some(up.id.clone()),
                phase: phase.to_owned(),
                code: Some(code),
                tries: up.attempt.tries,
                ..Status::default()
            }),
            ..View::default()
        };
        let same = |view: &View| expect_same(&record, view);
        same(&says("Failed", reason.code())).unwrap();
        assert!(same(&says("Trial", reason.code())).is_err());
        assert!(same(&says("Failed", "NoVerdict".to_owned())).is_err());
        assert!(same(&View::default()).is_err());
    }
}
