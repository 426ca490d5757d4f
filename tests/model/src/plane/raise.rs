//! kubeadm raises this node, in parts between which the power can go.
//!
//! | part | what it does |
//! |---|---|
//! | 0 | repairs what an earlier run has left |
//! | 1 | looks, renders, and writes the ledger |
//! | 2 to 17 | for each component: old manifest away, new one in, ledger follows, kubelet follows |
//! | 18 | writes the version into kubeadm-config |
//! | 19 | compares, repairs and flushes |
//! | 20 | waits until all serve, and closes the ledger |

use upgrade::control_plane::raise::{self, Run};
use upgrade::control_plane::repair::may_follow;
use upgrade::control_plane::{Component, Task, verb};

use super::pods::{etcd, follow, kept, pages, repair, sync};
use super::{COMPONENTS, ETCD, Ledger, Live, Page, Plane};
use crate::brain::number;
use crate::cast;
use crate::mistakes::Mutant;
use crate::world::{Do, End, Pc, State};

/// The number of parts.
pub const PARTS: u8 = 21;

/// After an error of kubeadm's: the repair, and the answer that it failed.
pub const REPAIRS: u8 = 40;

const RAISE: Do = Do::Control(Task::Raise);
const FIRST: u8 = 2;
const UPLOAD: u8 = 18;
const COMPARE: u8 = 19;
const SERVE: u8 = 20;

/// The next part.
pub fn go_on(mutant: Option<Mutant>, state: &mut State, part: u8, etc: u8) {
    state.pc = Pc::Doing(RAISE, part + 1, etc);
    let Some(plane) = state.plane else { return };
    match part {
        0 => resume(mutant, state),
        1 => begin(mutant, state, etc),
        UPLOAD if !plane.api_answers() => fails(state),
        UPLOAD if mutant == Some(Mutant::UploadsNoVersion) => {}
        UPLOAD => super::with(&mut state.plane, |plane| plane.cluster = target(plane)),
        COMPARE => compare(mutant, state),
        SERVE => serve(mutant, state),
        REPAIRS.. => repair_after_kubeadm(mutant, state),
        _ => swap(state, part, etc),
    }
}

fn target(plane: &Plane) -> char {
    plane.ledger.map_or(plane.cluster, |ledger| ledger.to)
}

/// The image's version.
fn wanted(state: &State) -> char {
    let up = state.disk.record.record().upgrade.as_ref();
    let commit = up.and_then(|up| up.commit());
    commit.map_or('?', cast::letter)
}

/// kubeadm ended with an error. The program around it repairs, and answers.
pub fn fails(state: &mut State) {
    state.pc = Pc::Doing(RAISE, REPAIRS, 0);
}

fn ends_badly(state: &mut State) {
    state.pc = Pc::Turn(Some((RAISE, End::Again)));
}

fn resume(mutant: Option<Mutant>, state: &mut State) {
    let Some(mut plane) = state.plane else { return };
    let raising = plane.ledger.filter(|ledger| ledger.raising);
    let Some(mut ledger) = raising else { return };
    let whole = mutant == Some(Mutant::ResumesWithoutARepair) || repair(mutant, &mut plane);
    if ledger.number != number(state) || ledger.to != wanted(state) {
        ledger.raising = false;
        plane.ledger = Some(ledger);
    }
    state.plane = Some(plane);
    sync(state);
    if !whole {
        ends_badly(state);
    }
}

/// The look, and the ledger's note. From it on a repair writes manifests back.
fn begin(mutant: Option<Mutant>, state: &mut State, etc: u8) {
    let Some(mut plane) = state.plane else { return };
    let to = wanted(state);
    let whole = plane.live.iter().all(|live| live.page().is_some());
    let blind = mutant == Some(Mutant::ResumesWithoutARepair);
    if !plane.api_answers() || !(whole || blind) {
        return ends_badly(state);
    }
    let under_way = plane.ledger.filter(|ledger| ledger.raising);
    let former = under_way.map(|ledger| {
        if ledger.applies {
            Run::Apply
        } else {
            Run::Node
        }
    });
    match raise::run(work(&plane, to), former) {
        Err(_) => ends_badly(state),
        Ok(None) => state.pc = Pc::Doing(RAISE, SERVE, etc),
        Ok(Some(run)) => {
            let applies = run == Run::Apply;
            plane.ledger = Some(note(&plane, under_way, number(state), (to, applies)));
            keep_all(&mut plane);
            state.plane = Some(plane);
            if !whole {
                state.breaks("kubeadm never takes a control plane for a worker");
            }
        }
    }
}

/// What kubeadm has to do.
fn work(plane: &Plane, to: char) -> upgrade::control_plane::Verb {
    let of = |live: &Live| live.page().map(|page| cast::version(page.letter));
    let manifests: Vec<_> = plane.live[1..].iter().filter_map(of).collect();
    let differs = plane
        .live
        .iter()
        .any(|live| *live != Live::Whole(Page::of(to)));
    let (cluster, image) = (cast::version(plane.cluster), cast::version(to));
    let owner = upgrade::control_plane::Owner::Nobody;
    verb(&cluster, &manifests, &image, owner, differs)
}

fn note(plane: &Plane, former: Option<Ledger>, number: u8, (to, applies): (char, bool)) -> Ledger {
    let now = plane.live.map(Live::page);
    let etcd = now[ETCD].is_some_and(|page| page.letter < to);
    let mut ledger = former.unwrap_or(Ledger {
        number,
        to,
        applies,
        etcd,
        raising: true,
        before: now,
        expected: [None; COMPONENTS],
        last: now,
        served: None,
    });
    (ledger.applies, ledger.etcd) = (applies, etcd);
    let serving = plane.pods[ETCD].filter(|_| plane.serves(ETCD));
    ledger.served = ledger.served.max(serving);
    for (component, expected) in ledger.expected.iter_mut().enumerate() {
        if component != ETCD || etcd {
            *expected = Some(Page::of(to));
        }
    }
    ledger
}

/// The thread that follows the folder begins with all manifests.
fn keep_all(plane: &mut Plane) {
    for component in 0..COMPONENTS {
        keep(plane, component);
    }
}

/// The raise ends here with its agent. Until then it has kept each manifest that is there, and the
/// kubelet follows what is left.
pub fn is_left(state: &mut State) {
    super::with(&mut state.plane, keep_all);
    sync(state);
    note_what_serves(state);
}

/// Flushes a manifest, and keeps it as the last whole one.
fn keep(plane: &mut Plane, component: usize) {
    plane.unflushed = plane.unflushed.filter(|(moved, _)| *moved != component);
    let (Some(page), Some(ledger)) = (plane.live[component].page(), plane.ledger.as_mut()) else {
        return;
    };
    let name = Component::ALL[component];
    if may_follow(name, &kept(name, page), ledger.served.map(etcd)) {
        ledger.last[component] = Some(page);
    }
}

/// One component: two moves, which nobody flushes, then the ledger, then the kubelet, which needs
/// seconds to start a pod.
fn swap(state: &mut State, part: u8, etc: u8) {
    let (component, move_) = (usize::from((part - FIRST) / 4), (part - FIRST) % 4);
    let Some(mut plane) = state.plane else { return };
    let Some(ledger) = plane.ledger else { return };
    let old = plane.live[component];
    let new = Live::Whole(Page::of(ledger.to));
    let stays = component == ETCD && !ledger.etcd;
    if move_ == 0 && (stays || old == new) {
        state.pc = Pc::Doing(RAISE, part + 4, etc);
        return;
    }
    plane.ghost.touched = true;
    match move_ {
        0 => (plane.unflushed, plane.live[component]) = (Some((component, old)), Live::Missing),
        1 => plane.live[component] = new,
        2 => keep(&mut plane, component),
        _ => {}
    }
    state.plane = Some(plane);
    if move_ == 3 {
        follow(state, component);
        note_what_serves(state);
    }
    let failed = state.plane.is_some_and(|plane| !plane.serves(component));
    if move_ == 3 && failed {
        rolls_back(state);
    }
}

/// etcd is asked for its version while kubeadm works.
fn note_what_serves(state: &mut State) {
    super::with(&mut state.plane, |plane| {
        let serving = plane.pods[ETCD].filter(|_| plane.serves(ETCD));
        if let Some(ledger) = &mut plane.ledger {
            ledger.served = ledger.served.max(serving);
        }
    });
}

/// A component did not come up in time: kubeadm puts the former manifests of this run back.
pub fn rolls_back(state: &mut State) {
    super::with(&mut state.plane, |plane| {
        let Some(ledger) = plane.ledger else { return };
        for (live, before) in plane.live.iter_mut().zip(ledger.before) {
            *live = before.map_or(*live, Live::Whole);
        }
        plane.unflushed = None;
    });
    fails(state);
}

fn compare(mutant: Option<Mutant>, state: &mut State) {
    let Some(mut plane) = state.plane else { return };
    let Some(ledger) = plane.ledger else { return };
    let wrong = raise::not_written(ledger.etcd, &pages(&plane, &ledger));
    let whole = repair(mutant, &mut plane);
    plane.unflushed = None;
    state.plane = Some(plane);
    sync(state);
    if !wrong.is_empty() || !whole {
        ends_badly(state);
    }
}

fn serve(mutant: Option<Mutant>, state: &mut State) {
    let well = state
        .plane
        .is_some_and(|plane| plane.is_well() && plane.server_serves());
    if !well {
        return ends_badly(state);
    }
    super::with(&mut state.plane, |plane| {
        if mutant != Some(Mutant::NeverEndsARaise) {
            close(plane);
        }
        plane.ghost.floor = plane.pods.map(|pod| pod.unwrap_or('9'));
    });
}

/// The raise is over.
pub fn close(plane: &mut Plane) {
    if let Some(ledger) = &mut plane.ledger {
        ledger.raising = false;
    }
}

fn repair_after_kubeadm(mutant: Option<Mutant>, state: &mut State) {
    super::with(&mut state.plane, |plane| {
        keep_all(plane);
        repair(mutant, plane);
    });
    sync(state);
    ends_badly(state);
}
