//! The API server: it refuses a write that is based on an old version, and what the rules of the
//! CRDs forbid. And the promises that a write could break.

use infrastructure::Phase;

use crate::mutant::Mutant;
use crate::objects::{Named, Stage};
use crate::world::{Setup, State};
use crate::write::Write;

/// A promise that is broken.
pub type Broken = &'static str;

/// Carries a write out. The state does not change if the object has changed.
pub fn apply(setup: &Setup, state: &State, write: Write, stale: bool) -> Result<State, Broken> {
    let mut next = *state;
    if stale && setup.mutant != Some(Mutant::NoVersions) {
        return Ok(next);
    }
    if let Some(at) = write.machine() {
        if !state.objects.machines[at].exists {
            return Ok(next);
        }
        on_machine(&mut next, at, write)?;
        if next.objects.machines[at] != state.objects.machines[at] {
            next.touch_machine(at);
        }
    } else {
        let at = on_host(setup, &mut next, write)?;
        if next.objects.hosts[at] != state.objects.hosts[at] && write.host().is_some() {
            next.touch_host(at);
        }
    }
    Ok(next)
}

fn on_machine(state: &mut State, at: usize, write: Write) -> Result<(), Broken> {
    let was = state.objects.machines[at];
    let machine = &mut state.objects.machines[at];
    match write {
        Write::Finalizer(_, true) => machine.finalizer = true,
        Write::Finalizer(_, false) => {
            machine.finalizer = false;
            if was.deleting {
                machine.exists = false;
            }
            if let Some(named) = was.named {
                fenced(state, named)?;
            }
        }
        Write::SetHost(_, named) => {
            let moves = was.named.is_some_and(|old| old != named);
            machine.named = Some(named);
            state.claims[at] += 1;
            if moves {
                return Err("the rule for hostRef refuses none of our writes");
            }
        }
        Write::ClearHost(_, tried) => {
            if was.named.is_some_and(|named| named.committed) {
                return Err("the rule for hostRef refuses none of our writes");
            }
            machine.named = None;
            machine.tried |= tried.map_or(0, |at| 1 << at);
        }
        Write::Commit(_) => {
            if let Some(named) = &mut machine.named {
                named.committed = true;
            }
        }
        Write::SetId(_) => machine.has_id = true,
        Write::Provisioned(_) => machine.provisioned = true,
        Write::PutClaim(..)
        | Write::Release(_)
        | Write::GiveUp(_)
        | Write::Copy(..)
        | Write::Tell(_)
        | Write::RemoveClaim(..)
        | Write::Seen(..)
        | Write::Orphan(..) => {}
    }
    Ok(())
}

/// No finalizer goes while the kubelet of the claim can run, except by the rule for lost hosts. A
/// machine that another one was faster than never had the host.
fn fenced(state: &State, named: Named) -> Result<(), Broken> {
    let real = state.real[named.host];
    let claim = state.objects.hosts[named.host].claim;
    let lost = claim.is_some_and(|claim| claim.id == named.claim && claim.lost);
    let ended = real.ended & (1 << named.claim) != 0;
    let fenced = real.stay == Some((named.claim, Stage::Fenced));
    let others = claim.is_some_and(|claim| claim.id != named.claim);
    let never = others && !named.committed && real.stay.is_none_or(|(id, _)| id != named.claim);
    if lost || ended || fenced || never && real.kubelet != Some(named.claim) {
        return Ok(());
    }
    Err("no finalizer goes unfenced, except by the rule")
}

fn on_host(setup: &Setup, state: &mut State, write: Write) -> Result<usize, Broken> {
    let machines = state.objects.machines;
    match write {
        Write::PutClaim(at, claim) => {
            let host = &mut state.objects.hosts[at];
            if host.claim.is_some_and(|old| old.id != claim.id) {
                return Err("no claim is written over another's");
            }
            host.claim = Some(claim);
            Ok(at)
        }
        Write::Release(at) => {
            let Some(claim) = &mut state.objects.hosts[at].claim else {
                return Ok(at);
            };
            let held = machines.iter().any(|machine| {
                let named = machine
                    .named
                    .filter(|_| machine.exists && !machine.deleting);
                named.is_some_and(|named| named.host == at && named.claim == claim.id)
            });
            if held && claim.told && !claim.released {
                return Err("no host of a running machine is ordered to leave");
            }
            claim.released = true;
            Ok(at)
        }
        Write::GiveUp(at) => {
            if let Some(claim) = &mut state.objects.hosts[at].claim {
                claim.lost = true;
            }
            Ok(at)
        }
        Write::Copy(at, claim) => {
            state.objects.hosts[at].secret = claim;
            Ok(at)
        }
        Write::Tell(at) => tell(state, at).map(|()| at),
        Write::RemoveClaim(at, cordon) => remove_claim(setup, state, at, cordon).map(|()| at),
        Write::Seen(at, id) => {
            let host = &mut state.objects.hosts[at];
            host.seen = id;
            if id.is_none() {
                host.named = None;
            }
            Ok(at)
        }
        Write::Orphan(at, id) => {
            let host = &mut state.objects.hosts[at];
            (host.named, host.cordoned) = (Some(id), true);
            Ok(at)
        }
        Write::Finalizer(at, _)
        | Write::SetHost(at, _)
        | Write::ClearHost(at, _)
        | Write::Commit(at)
        | Write::SetId(at)
        | Write::Provisioned(at) => Ok(at),
    }
}

/// The host is told that its data are there.
fn tell(state: &mut State, at: usize) -> Result<(), Broken> {
    let real = state.real[at];
    let Some(claim) = &mut state.objects.hosts[at].claim else {
        return Ok(());
    };
    if claim.released {
        return Err("the rule for bootstrapHash refuses none of our writes");
    }
    claim.told = true;
    let (id, machine) = (claim.id, claim.machine);
    let other = real.stay.is_some_and(|(of, _)| of != id);
    if other || real.dirty && real.stay.is_none() {
        return Err("no host that is not clean gets data");
    }
    match state.told.get_mut(machine) {
        Some(told) if told.is_some_and(|host| host != at) => {
            Err("no machine has two hosts with data")
        }
        Some(told) => {
            *told = Some(at);
            Ok(())
        }
        None => Ok(()),
    }
}

fn remove_claim(setup: &Setup, state: &mut State, at: usize, cordon: bool) -> Result<(), Broken> {
    let real = state.real[at];
    let host = &mut state.objects.hosts[at];
    let Some(claim) = host.claim else {
        return Ok(());
    };
    let clean = match host.observed {
        Some(id) if id == claim.id => host.phase == Phase::Available,
        Some(_) => host.phase.serves(),
        None => false,
    };
    host.claim = None;
    (host.seen, host.named) = (None, None);
    host.cordoned |= cordon;
    // A host that has used no data drops a claim that is gone.
    let used = |(id, stage)| id == claim.id && !matches!(stage, Stage::Imaging | Stage::Ready);
    let uses = real.stay.is_some_and(used) || real.kubelet == Some(claim.id);
    if uses {
        return Err("no host is available before it is clean");
    }
    if !clean && setup.mutant.is_none() {
        return Err("the rule for claims refuses none of our writes");
    }
    Ok(())
}
