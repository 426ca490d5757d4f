//! Turn by turn until the end of the pod.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tracing::{info, warn};

use crate::act::{Failed, act};
use crate::decide::decide;
use crate::health::Health;
use crate::look::look;
use crate::node::Node;
use crate::systemd::Systemd;

/// Between two turns. Nothing here is urgent, and a look costs the node's systemd three calls.
const PACE: Duration = Duration::from_secs(5);

/// One turn of a pod that installs.
///
/// # Errors
/// When the node could not be looked at, or the act was not done.
pub fn install(node: &Node, systemd: &dyn Systemd) -> Result<Health, Failed> {
    let decision = decide(&look(node, systemd)?);
    act(decision.act, node, systemd)?;
    Ok(decision.health)
}

/// What a turn has come to, for whoever asks the pod.
#[must_use]
pub fn outcome(turn: Result<Health, Failed>) -> Health {
    turn.unwrap_or_else(|error| Health {
        ready: false,
        text: error.to_string(),
    })
}

/// Turn by turn, telling in `file` how it is, until somebody says the word or is gone. An act that is begun is ended.
pub fn run(file: &Path, over: &Receiver<()>, mut turn: impl FnMut() -> Health) {
    let mut told = None;
    loop {
        let health = turn();
        if told.as_ref() != Some(&health) {
            let word = if health.ready { "ready" } else { "not ready" };
            info!("{word}: {}", health.text);
        }
        if let Err(error) = health.tell(file) {
            warn!("{error}");
        }
        told = Some(health);
        match over.recv_timeout(PACE) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
