//! The patience of an agent that has only just started, where the API server is asked and not needed.

use super::Act;
use crate::observe::{Asked, Observation};

/// For how many seconds it lasts. Cleaning up takes tens of seconds, in which no pod could come back under our cordon; arming hears no
/// withdrawal any more, and a reboot ends the pods that came back since somebody took the cordon off.
const CONNECTING: u64 = 90;

/// The wait for the server. Counted from the agent's start and not the boot's: what puts the kubelet's state back runs before it, and may
/// take minutes.
pub(super) fn connecting(seen: &Observation) -> Option<Act> {
    let until = seen.started.plus_seconds(CONNECTING);
    (seen.now < until).then_some(Act::Wait(Some(until)))
}

/// The same until the Node was seen.
pub(super) fn unheard(seen: &Observation) -> Option<Act> {
    connecting(seen).filter(|_| seen.request == Asked::Unknown)
}
