//! Runs turn by turn until the end of the pod.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tracing::{info, warn};

use crate::act::act;
use crate::decide::decide;
use crate::failed::Failed;
use crate::health::Health;
use crate::look::look;
use crate::node::Node;
use crate::systemd::Systemd;

/// The pause between two turns. Nothing here is urgent, and a look costs the node's systemd three
/// calls.
const PACE: Duration = Duration::from_secs(5);

/// The pause after a failed action. Each try copies again, or stops and starts the agent, and must
/// not wear out a node that is full or broken. It is short enough that the probe still hears of the
/// pod.
const AFTER_A_FAILURE: Duration = Duration::from_secs(45);

/// One turn of an installing pod.
///
/// # Errors
/// If the node could not be observed, or the action failed.
pub fn install(node: &Node, systemd: &dyn Systemd) -> Result<Health, Failed> {
    let decision = decide(&look(node, systemd)?);
    act(decision.act, node, systemd)?;
    Ok(decision.health)
}

/// The result of a turn, for the readiness probe.
#[must_use]
pub fn outcome(turn: Result<Health, Failed>) -> Health {
    turn.unwrap_or_else(|error| Health {
        ready: false,
        text: error.to_string(),
    })
}

/// How long to wait before the next turn.
fn pause(turn: &Result<Health, Failed>) -> Duration {
    match turn {
        // Looks change nothing.
        Ok(_) | Err(Failed::Overtaken | Failed::Blind(_)) => PACE,
        Err(Failed::NoRoom { .. } | Failed::Host(_) | Failed::Systemd(_)) => AFTER_A_FAILURE,
    }
}

/// Runs turn by turn and writes the state to `file`, until it is told to end or the sender is gone.
/// It finishes an action that it has started.
pub fn run(file: &Path, over: &Receiver<()>, mut turn: impl FnMut() -> Result<Health, Failed>) {
    let mut told = None;
    loop {
        let turned = turn();
        let pause = pause(&turned);
        let health = outcome(turned);
        if told.as_ref() != Some(&health) {
            let word = if health.ready { "ready" } else { "not ready" };
            info!("{word}: {}", health.text);
        }
        if let Err(error) = health.tell(file) {
            warn!("{error}");
        }
        told = Some(health);
        match over.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systemd::Refused;

    #[test]
    fn failed_turn_pauses_longer_and_stays_under_the_silence_limit() {
        let failed = Failed::Systemd(Refused::Call("the bus is away".to_owned()));
        assert!(pause(&Err(failed)) > PACE * 5);
        assert!(pause(&Err(Failed::Overtaken)) == PACE);
        assert!(AFTER_A_FAILURE * 2 < crate::health::SILENCE);
    }
}
