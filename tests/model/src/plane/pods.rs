//! The static pods, and the repair of their manifests before the kubelet starts them.

use std::collections::BTreeMap;

use upgrade::Digest;
use upgrade::control_plane::repair::{self, Kept, Pages, Repair};
use upgrade::control_plane::{Component, EtcdVersion};

use super::{COMPONENTS, ETCD, Folder, Ledger, Live, Page, Plane, SERVER};
use crate::cast;
use crate::mistakes::Mutant;
use crate::world::{Flaw, State};

/// The etcd of a version: each letter is one minor newer.
#[must_use]
pub fn etcd(letter: char) -> EtcdVersion {
    let kubernetes = cast::version(letter);
    // 3.6.11, from which the step to 3.7 is safe.
    EtcdVersion::new(3, kubernetes.minor() - 29, 11)
}

/// The repair at a boot, then the kubelet and its static pods.
pub fn boot(mutant: Option<Mutant>, state: &mut State) {
    let Some(mut plane) = state.plane else { return };
    if plane.folder == Folder::Shared && !plane.mounts {
        plane.folder = Folder::Empty;
    }
    let before = plane;
    let shared = plane.folder == Folder::Shared;
    if shared && mutant != Some(Mutant::RepairsNothing) {
        repair(mutant, &mut plane);
    }
    if plane.live != before.live && !is_raising(&before) {
        state.breaks("a repair changes nothing when no raise is under way");
    }
    if mutant == Some(Mutant::PutsTheFormerManifestsBack) && !state.running.trial {
        put_former_back(&mut plane);
    }
    state.plane = Some(plane);
    let empty = plane.folder == Folder::Empty;
    if empty || state.suffers(Flaw::KubeletDown) {
        // The kubelet waits for the mount, or does not start.
        state.running.sick |= empty;
        return;
    }
    start(state);
    if mutant == Some(Mutant::GoesBackInATrial) && state.running.trial {
        super::with(&mut state.plane, put_former_back);
    }
}

fn is_raising(plane: &Plane) -> bool {
    plane.ledger.is_some_and(|ledger| ledger.raising)
}

/// The kubelet starts what the manifests say.
fn start(state: &mut State) {
    let Some(plane) = state.plane else { return };
    if plane.live.iter().any(|live| live.page().is_none()) {
        state.breaks("no manifest is missing when the kubelet starts");
    }
    let letters = plane.live.iter().map(|live| live.page());
    let letters = letters.map(|page| page.map_or('9', |page| page.letter));
    if letters
        .zip(plane.ghost.floor)
        .any(|(now, floor)| now < floor)
    {
        state.breaks("a control plane only goes forward");
    }
    let server = plane.live[SERVER].page();
    if server.is_some_and(|server| server.letter < state.running.system.letter) && !is_guest(state)
    {
        state.breaks("no kubelet runs with an older API server of its node");
    }
    sync(state);
}

/// A person chose this system, by the menu or as their own default.
fn is_guest(state: &State) -> bool {
    state.running.picked || state.ghost.by_hand || state.running.system.same(cast::OWN)
}

/// The kubelet follows the manifests: it ends the pods of those that are gone.
pub fn sync(state: &mut State) {
    for component in 0..COMPONENTS {
        follow(state, component);
    }
}

/// The kubelet starts this pod from its manifest. An image with the flaw does not let it serve.
pub fn follow(state: &mut State, component: usize) {
    let down = state.suffers(Flaw::MemberDown);
    let Some(plane) = &mut state.plane else {
        return;
    };
    let page = plane.live[component].page();
    plane.pods[component] = page.map(|page| page.letter).filter(|_| !down);
    if component == ETCD && !serve(plane) {
        state.breaks("no etcd starts on the data of a newer minor");
    }
}

/// etcd starts. The data goes to the newest minor that all members have.
fn serve(plane: &mut Plane) -> bool {
    let Some(letter) = plane.pods[ETCD] else {
        return true;
    };
    if letter < plane.data {
        return false;
    }
    if plane.broken != Some(ETCD) {
        let all = if plane.others == 0 {
            letter
        } else {
            letter.min(plane.others_at)
        };
        plane.data = plane.data.max(all);
    }
    true
}

/// `careen-stage repair`, or the same in a raise. Returns whether every manifest is whole.
pub fn repair(mutant: Option<Mutant>, plane: &mut Plane) -> bool {
    let Some(mut ledger) = plane.ledger else {
        return true;
    };
    if mutant == Some(Mutant::PutsAnOlderEtcdBack) {
        ledger.served = None;
    }
    let raising = ledger.raising || mutant == Some(Mutant::RepairsWhatNobodyRaises);
    let repairs = repair::repairs(raising, ledger.served.map(etcd), &pages(plane, &ledger));
    for repair in &repairs {
        write_back(plane, &ledger, repair);
    }
    repairs.iter().all(|repair| repair.with.is_some())
}

/// What nothing does once a raise is over: a folder for each deployment would.
fn put_former_back(plane: &mut Plane) {
    let Some(ledger) = plane.ledger.filter(|ledger| !ledger.raising) else {
        return;
    };
    for (live, before) in plane.live.iter_mut().zip(ledger.before) {
        *live = before.map_or(*live, Live::Whole);
    }
}

/// Durable at once.
fn write_back(plane: &mut Plane, ledger: &Ledger, repair: &Repair) {
    let at = place(repair.component);
    let copies = match repair.with {
        Some(repair::Page::Before) => ledger.before,
        Some(repair::Page::Expected) => ledger.expected,
        Some(repair::Page::Last) => ledger.last,
        None => return,
    };
    if let Some(page) = copies[at] {
        plane.live[at] = Live::Whole(page);
        plane.unflushed = plane.unflushed.filter(|(moved, _)| *moved != at);
    }
}

/// The position of a component.
#[must_use]
pub fn place(component: Component) -> usize {
    let found = Component::ALL.iter().position(|one| *one == component);
    found.unwrap_or_default()
}

/// The ledger as the repair sees it.
#[must_use]
pub fn pages(plane: &Plane, ledger: &Ledger) -> BTreeMap<Component, Pages> {
    let of = |component: Component| {
        let at = place(component);
        let kept = |page: Option<Page>| page.map(|page| kept(component, page));
        Pages {
            live: live(plane.live[at]),
            before: kept(ledger.before[at]),
            expected: kept(ledger.expected[at]),
            last: kept(ledger.last[at]),
        }
    };
    let all = Component::ALL.into_iter();
    all.map(|component| (component, of(component))).collect()
}

/// A copy in the ledger.
#[must_use]
pub fn kept(component: Component, page: Page) -> Kept {
    let is_etcd = component == Component::Etcd;
    Kept {
        digest: digest(page),
        etcd: is_etcd.then(|| etcd(page.letter)),
    }
}

fn live(live: Live) -> repair::Live {
    match live {
        Live::Missing => repair::Live::Missing,
        Live::Torn => repair::Live::Empty,
        Live::Whole(page) => repair::Live::Text(digest(page)),
    }
}

fn digest(page: Page) -> Digest {
    if !page.edited {
        return cast::digest(page.letter);
    }
    let text = format!("0{}", page.letter).repeat(32);
    text.parse()
        .unwrap_or_else(|_| unreachable!("{text} is hexadecimal"))
}
