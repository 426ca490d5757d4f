//! The real hosts, as careen-host is built: it reads its claim, and never takes the absence of one
//! as an order. A claim that has ended never begins again.

use infrastructure::Phase;

use crate::objects::{Real, Stage};
use crate::world::State;

/// What the host does next with what it reads now. Nothing, if there is nothing to do.
pub fn act(state: &State, at: usize) -> Option<State> {
    let object = state.objects.hosts[at];
    let real = state.real[at];
    if real.away {
        return None;
    }
    let claim = object.claim;
    let own = |id: u8| claim.filter(|claim| claim.id == id);
    let ended = |id: u8| real.ended & (1 << id) != 0;
    let next = match (real.stay, claim) {
        (None, Some(claim)) if !ended(claim.id) && claim.released => end(real, claim.id),
        (None, Some(claim)) if !ended(claim.id) && !real.dirty => {
            stay(real, claim.id, Stage::Imaging)
        }
        (None, _) => return None,
        (
            Some((id, Stage::Imaging | Stage::Ready | Stage::Failed { used: false })),
            Some(claim),
        ) if claim.id == id && claim.released => end(real, id),
        (Some((_, Stage::Imaging | Stage::Ready)), None) => Real { stay: None, ..real },
        (Some((id, Stage::Imaging)), _) => stay(real, id, Stage::Ready),
        (Some((id, Stage::Ready)), _) => {
            let told = own(id).is_some_and(|claim| claim.told && !claim.released);
            if !told || object.secret != Some(id) {
                return None;
            }
            stay(real, id, Stage::Told)
        }
        // It does not look at the API server between the two.
        (Some((id, Stage::Told)), _) => Real {
            kubelet: Some(id),
            dirty: true,
            ..stay(real, id, Stage::Joined)
        },
        (Some((id, Stage::Joined | Stage::Failed { used: true })), _) => {
            own(id).filter(|claim| claim.released)?;
            Real {
                kubelet: None,
                ..stay(real, id, Stage::Fenced)
            }
        }
        (Some((id, Stage::Fenced)), _) => Real {
            dirty: false,
            ..end(real, id)
        },
        (Some((_, Stage::Failed { used: false })), _) => return None,
    };
    let mut state = *state;
    state.real[at] = next;
    Some(state)
}

const fn stay(real: Real, id: u8, stage: Stage) -> Real {
    Real {
        stay: Some((id, stage)),
        ..real
    }
}

const fn end(real: Real, id: u8) -> Real {
    Real {
        stay: None,
        ended: real.ended | 1 << id,
        ..real
    }
}

/// The host fails with its claim.
pub fn fail(state: &State, at: usize) -> Option<State> {
    let (id, stage) = state.real[at].stay?;
    let used = match stage {
        Stage::Imaging | Stage::Ready => false,
        Stage::Told => true,
        Stage::Joined | Stage::Fenced | Stage::Failed { .. } => return None,
    };
    let mut state = *state;
    let real = &mut state.real[at];
    // What has begun to run may have started the kubelet.
    if used {
        (real.kubelet, real.dirty) = (Some(id), true);
    }
    real.stay = Some((id, Stage::Failed { used }));
    Some(state)
}

/// The host has rebooted and has not looked at itself yet.
pub fn reboot(state: &State, at: usize) -> Option<State> {
    let real = state.real[at];
    if real.stay.is_some() || real.away {
        return None;
    }
    let mut state = *state;
    state.objects.hosts[at].phase = Phase::Registered;
    state.touch_host(at);
    Some(state)
}

/// The host writes its status, if it differs.
pub fn report(state: &State, at: usize) -> Option<State> {
    let (object, real) = (state.objects.hosts[at], state.real[at]);
    if real.away {
        return None;
    }
    let ended = object
        .claim
        .filter(|claim| real.ended & (1 << claim.id) != 0);
    let (phase, observed) = match (real.stay, ended) {
        (Some((id, stage)), _) => (phase(stage), Some(id)),
        (None, Some(claim)) if !claim.released => (Phase::Failed, Some(claim.id)),
        (None, ended) => (Phase::Available, ended.map(|claim| claim.id)),
    };
    let asks = matches!(real.stay, Some((_, Stage::Ready)));
    if (object.phase, object.observed, object.asks) == (phase, observed, asks) {
        return None;
    }
    let mut state = *state;
    let host = &mut state.objects.hosts[at];
    (host.phase, host.observed, host.asks) = (phase, observed, asks);
    state.touch_host(at);
    Some(state)
}

const fn phase(stage: Stage) -> Phase {
    match stage {
        Stage::Imaging => Phase::Imaging,
        Stage::Ready | Stage::Told => Phase::Joining,
        Stage::Joined => Phase::Joined,
        Stage::Fenced => Phase::Cleaning,
        Stage::Failed { .. } => Phase::Failed,
    }
}
