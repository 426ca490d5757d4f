//! Which pods of a drained node leave next: those without volumes all at once, those with volumes
//! one after the other. A driver that detaches and attaches many volumes at the same time is slow,
//! and a volume with one writer must be free before its next pod starts.

use std::collections::BTreeSet;

/// How long the volumes of a pod may take to detach, after its time to end.
const DETACH: i64 = 120;

/// How long they may take to be attached elsewhere.
const REATTACH: i64 = 90;

/// A pod that must leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodToGo {
    /// Its UID: a successor of the same name is another pod.
    pub uid: String,
    /// Its namespace.
    pub space: String,
    /// Its name.
    pub name: String,
    /// The priority of its class. The highest leaves first.
    pub priority: i32,
    /// How many seconds it may take to end.
    pub grace: i64,
    /// It ends already.
    pub ending: bool,
    /// Its PersistentVolumeClaims, as `namespace/name`.
    pub claims: BTreeSet<String>,
}

/// A volume that the node of a drain has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Its PersistentVolumeClaim, as `namespace/name`.
    pub claim: String,
    /// The name of the PersistentVolume.
    pub name: String,
}

/// A VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the PersistentVolume.
    pub volume: String,
    /// It is one of the drained node. It goes when the volume is detached.
    pub here: bool,
    /// The driver has attached the volume.
    pub attached: bool,
}

/// The pod with volumes whose turn it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// Its UID.
    pub uid: String,
    /// Its namespace and name.
    pub name: String,
    /// How many seconds it may take to end.
    pub grace: i64,
    /// Its volumes that were attached to the node.
    pub volumes: Vec<Volume>,
    /// Since when it leaves.
    pub since: i64,
    /// Since when its volumes are detached.
    pub detached: Option<i64>,
}

impl Moving {
    /// The pod leaves now. A volume that was not attached is not waited for.
    #[must_use]
    pub fn new(pod: &PodToGo, volumes: Vec<Volume>, attached: &[Attachment], now: i64) -> Self {
        let is_here = |volume: &Volume| is_here(volume, attached);
        Self {
            uid: pod.uid.clone(),
            name: format!("{}/{}", pod.space, pod.name),
            grace: pod.grace,
            volumes: volumes.into_iter().filter(is_here).collect(),
            since: now,
            detached: None,
        }
    }
}

/// All input of one look at the pods of a drained node.
pub struct DrainFacts<'a> {
    /// Seconds since 1970.
    pub now: i64,
    /// The pods that must leave.
    pub pods: &'a [PodToGo],
    /// The claims of the pods that stay.
    pub kept: &'a BTreeSet<String>,
    /// The pod whose turn it was at the last look.
    pub moving: Option<&'a Moving>,
    /// The VolumeAttachments of the cluster.
    pub attached: &'a [Attachment],
}

/// The pods to ask to leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextPods<'a> {
    /// All at once.
    pub together: Vec<&'a PodToGo>,
    /// The first one of these that a budget lets go.
    pub in_turn: Vec<&'a PodToGo>,
    /// The pod whose turn it still is.
    pub moving: Option<Moving>,
    /// What was not waited for any longer.
    pub overdue: Option<String>,
    /// How many pods are not away yet, with the one whose volumes are still attached.
    pub left: usize,
}

/// Decides which pods leave next.
#[must_use]
pub fn next_pods<'a>(facts: &DrainFacts<'a>) -> NextPods<'a> {
    let waiting = facts.pods.iter().filter(|pod| !pod.ending);
    let (together, mut in_turn): (Vec<_>, Vec<_>) = waiting.partition(|pod| pod.claims.is_empty());
    in_turn.sort_by_key(|pod| (-i64::from(pod.priority), &pod.space, &pod.name));
    let (moving, overdue) = match facts.moving {
        Some(moving) => still_moving(facts, moving, in_turn.is_empty()),
        None => (None, None),
    };
    if moving.is_some() {
        in_turn.clear();
    }
    let is_away = |moving: &Moving| !is_on_node(facts, moving);
    let left = facts.pods.len() + usize::from(moving.as_ref().is_some_and(is_away));
    NextPods {
        together,
        in_turn,
        moving,
        overdue,
        left,
    }
}

/// The pod whose turn it is, unless it is over, and what it was too long for.
fn still_moving(
    facts: &DrainFacts<'_>,
    moving: &Moving,
    is_last: bool,
) -> (Option<Moving>, Option<String>) {
    let name = &moving.name;
    let mut volumes = own_volumes(facts, moving);
    if is_on_node(facts, moving) || volumes.iter().any(|volume| is_here(volume, facts.attached)) {
        let seconds = moving.grace.saturating_add(DETACH);
        let is_late = facts.now - moving.since >= seconds;
        let overdue = || format!("pod {name} and its volumes have not left in {seconds} s");
        return ((!is_late).then(|| moving.clone()), is_late.then(overdue));
    }
    volumes.retain(|volume| !is_elsewhere(volume, facts.attached));
    let detached = moving.detached.unwrap_or(facts.now);
    match volumes.first() {
        Some(volume) if !is_last => {
            let is_late = facts.now - detached >= REATTACH;
            let volume = &volume.name;
            let overdue = || {
                format!("volume {volume} of pod {name} is not attached elsewhere in {REATTACH} s")
            };
            let waits = Moving {
                detached: Some(detached),
                ..moving.clone()
            };
            ((!is_late).then_some(waits), is_late.then(overdue))
        }
        Some(_) | None => (None, None),
    }
}

/// Its volumes that no other pod of the node uses: a shared one detaches with the last pod.
fn own_volumes<'a>(facts: &DrainFacts<'_>, moving: &'a Moving) -> Vec<&'a Volume> {
    let others = facts.pods.iter().filter(|pod| pod.uid != moving.uid);
    let used: BTreeSet<_> = others
        .flat_map(|pod| &pod.claims)
        .chain(facts.kept)
        .collect();
    let volumes = moving.volumes.iter();
    volumes
        .filter(|volume| !used.contains(&volume.claim))
        .collect()
}

fn is_on_node(facts: &DrainFacts<'_>, moving: &Moving) -> bool {
    facts.pods.iter().any(|pod| pod.uid == moving.uid)
}

fn is_here(volume: &Volume, attached: &[Attachment]) -> bool {
    let mut of_it = attached.iter().filter(|one| one.volume == volume.name);
    of_it.any(|one| one.here)
}

fn is_elsewhere(volume: &Volume, attached: &[Attachment]) -> bool {
    let mut of_it = attached.iter().filter(|one| one.volume == volume.name);
    of_it.any(|one| !one.here && one.attached)
}
