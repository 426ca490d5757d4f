//! What may go wrong with a control plane, and how it heals when a run waits for nothing else.

use upgrade::Reason;
use upgrade::control_plane::Task;
use upgrade::record::Raise;

use super::{ETCD, Folder, Lease, Live, Page, Plane, SERVER, pods, raise};
use crate::world::{Do, Pc, State};

/// The component whose manifest a person edits.
const SCHEDULER: usize = 3;

/// A fault of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strike {
    /// Another member goes away.
    MemberGoes,
    /// One that was away is back.
    MemberReturns,
    /// A component of this node does not serve any more, in any system.
    Breaks(usize),
    /// Another upgrade takes the free lock.
    OthersLock,
    /// kubeadm gives up a component that did not come up in time, and puts the former manifests
    /// back.
    RollsBack,
    /// A person removes the lock.
    Unlocks,
    /// A person edits a manifest.
    Edits,
    /// A person removes the mount of /etc/kubernetes. The next boot does not have it.
    Unmounts,
}

/// What a power cut makes of a manifest that was moved and not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Torn {
    /// The former one is back.
    Back,
    /// There is none.
    Gone,
    /// The new one is torn.
    Half,
}

/// What a power cut now can lose of the manifests.
#[must_use]
pub fn cuts(plane: &Plane) -> &'static [Torn] {
    match plane.unflushed {
        None => &[],
        Some((component, _)) if plane.live[component] == Live::Missing => &[Torn::Back],
        Some(_) => &[Torn::Back, Torn::Gone, Torn::Half],
    }
}

/// The power goes.
pub fn cut(plane: &mut Plane, torn: Option<Torn>) {
    let Some((component, former)) = plane.unflushed.take() else {
        return;
    };
    plane.live[component] = match torn {
        None => plane.live[component],
        Some(Torn::Back) => former,
        Some(Torn::Gone) => Live::Missing,
        Some(Torn::Half) => Live::Torn,
    };
}

/// All that is possible now. People do nothing if `people` is false.
#[must_use]
pub fn possible(state: &State, people: bool) -> Vec<Strike> {
    let Some(plane) = state.plane else {
        return Vec::new();
    };
    let mut strikes = Vec::new();
    if plane.away < plane.others {
        strikes.push(Strike::MemberGoes);
    }
    if plane.away > 0 {
        strikes.push(Strike::MemberReturns);
    }
    if plane.broken.is_none() {
        strikes.extend([ETCD, SERVER].map(Strike::Breaks));
    }
    if plane.lease == Lease::Free && plane.others > 0 {
        strikes.push(Strike::OthersLock);
    }
    if let Pc::Doing(Do::Control(Task::Raise), part, _) = state.pc
        && (3..raise::PARTS - 2).contains(&part)
    {
        strikes.push(Strike::RollsBack);
    }
    if people {
        by_people(&plane, &mut strikes);
    }
    strikes
}

fn by_people(plane: &Plane, out: &mut Vec<Strike>) {
    if plane.lease != Lease::Free {
        out.push(Strike::Unlocks);
    }
    if plane.live[SCHEDULER]
        .page()
        .is_some_and(|page| !page.edited)
    {
        out.push(Strike::Edits);
    }
    if plane.mounts && plane.folder == Folder::Shared {
        out.push(Strike::Unmounts);
    }
}

/// Whether a person does it.
#[must_use]
pub const fn is_of_people(strike: Strike) -> bool {
    matches!(strike, Strike::Unlocks | Strike::Edits | Strike::Unmounts)
}

/// What happens then.
pub fn strike(state: &mut State, strike: Strike) {
    if strike == Strike::RollsBack {
        return raise::rolls_back(state);
    }
    super::with(&mut state.plane, |plane| match strike {
        Strike::MemberGoes => plane.away += 1,
        Strike::MemberReturns => plane.away -= 1,
        Strike::Breaks(component) => plane.broken = Some(component),
        Strike::OthersLock => plane.lease = Lease::Others,
        Strike::Unlocks => {
            plane.lease = Lease::Free;
            plane.ghost.robbed = true;
        }
        Strike::Edits => {
            if let Some(page) = plane.live[SCHEDULER].page() {
                let edited = true;
                plane.live[SCHEDULER] = Live::Whole(Page { edited, ..page });
            }
        }
        Strike::Unmounts => plane.mounts = false,
        Strike::RollsBack => {}
    });
}

/// What the upgrade waits for ends while it waits: the other members are back, and another upgrade
/// has released the lock. For a careful operator, whose policy ends such a wait, it does not end by
/// itself. A person repairs this node's member, unless kubeadm has left it so.
pub fn heal_while_it_waits(state: &mut State) {
    let up = state.disk.record.record().upgrade.as_ref();
    let waits = up.and_then(|up| up.waits.as_ref());
    let control = up.and_then(|up| up.control.as_ref());
    let begun = control.is_some_and(|control| control.raise == Raise::Begun);
    let lasts = state.careful && !begun;
    if matches!(waits, Some(Reason::ControlPlaneWaits { .. })) {
        super::with(&mut state.plane, |plane| {
            plane.away = if lasts { plane.away } else { 0 };
            // Other members are upgraded to the version of the cluster.
            plane.others_at = plane.others_at.max(plane.cluster);
            plane.broken = plane.broken.filter(|_| begun);
            if plane.lease == Lease::Others && !lasts {
                plane.lease = Lease::Free;
            }
        });
        pods::follow(state, ETCD);
    }
}

/// Nothing else is left to wait for: a person repairs what is broken, and other members are back.
/// Returns false if all was well.
pub fn heal(state: &mut State) -> bool {
    let Some(mut plane) = state.plane else {
        return false;
    };
    let before = plane;
    (plane.away, plane.broken, plane.mounts) = (0, None, true);
    let lacked_the_kubelet = plane.folder == Folder::Empty;
    if lacked_the_kubelet {
        plane.folder = Folder::Shared;
    }
    if plane == before {
        return false;
    }
    state.plane = Some(plane);
    state.running.sick &= !lacked_the_kubelet;
    pods::sync(state);
    true
}
