//! A pool: how many machines it has, which one goes, and which one is upgraded in place next.
//!
//! Core makes a Machine for each CareenMachine of the pool and drains it when it goes. It knows no
//! upgrade in place of a pool, so the order of upgrades is ours.

use crate::pool_why::PoolWhy;

/// How many machines one look makes at most.
const AT_ONCE: usize = 10;

/// What is known of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// It is being deleted.
    pub deleting: bool,
    /// It has our finalizer.
    pub finalizer: bool,
    /// The replicas that its MachinePool wants. `None` without a MachinePool.
    pub wanted: Option<usize>,
    /// It, its MachinePool or its Cluster is paused, and which one.
    pub paused: Option<String>,
    /// How many machines may be unavailable at once.
    pub max_unavailable: usize,
    /// How many machines the next step may make: 1, and twice as many after each step that
    /// succeeded.
    pub batch: usize,
    /// A machine with older bootstrap data, or of another template, is replaced.
    pub replace: bool,
    /// `spec.providerIDList`.
    pub provider_ids: Vec<String>,
    /// Machines of the pool that are left over: the member of that name is gone.
    pub dangling: Vec<String>,
    /// Why the image that its machines should run is not known.
    pub no_image: Option<String>,
    /// What its status says.
    pub shown: PoolShown,
}

/// What the status of a pool says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolShown {
    /// All machines that were wanted were nodes once. Core reads the list of ids only then, so it
    /// never becomes false again.
    pub ready: bool,
    /// The machines that stay.
    pub replicas: usize,
    /// Those of them that run the wanted image.
    pub up_to_date: usize,
}

/// A machine of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name, which its Machine has as well.
    pub name: String,
    /// When it was made, in seconds since 1970.
    pub made: i64,
    /// It is being deleted, or its Machine is.
    pub leaving: bool,
    /// Core has made its Machine.
    pub machine: bool,
    /// Somebody has annotated the Machine with `cluster.x-k8s.io/delete-machine`: a person, or the
    /// cluster autoscaler.
    pub marked: bool,
    /// We have.
    pub marked_by_us: bool,
    /// A person has paused the Machine or its Node, and which one. Nothing begins with it.
    pub paused: Option<String>,
    /// A person has left it out of the upgrades. No other one waits for it.
    pub left_out: bool,
    /// It has older bootstrap data, or its template asks for other hosts now. No upgrade in place
    /// changes that.
    pub changed: bool,
    /// The provider id of its Node, once it is a node.
    pub provider_id: Option<String>,
    /// Its Node is Ready, and no upgrade is under way.
    pub available: bool,
    /// It runs the wanted image.
    pub up_to_date: bool,
    /// Its upgrade to the wanted image is under way.
    pub upgrading: bool,
    /// Its upgrade to the wanted image failed, and why.
    pub failed: Option<String>,
    /// It asks its host for another image than the pool does, and is not a node yet.
    pub stale: bool,
    /// What it waits for, as a word.
    pub says: Option<String>,
}

/// One write for a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolAct {
    /// Keep the pool until its machines are gone.
    AddFinalizer,
    /// Let it go.
    RemoveFinalizer,
    /// Make so many machines.
    Create(usize),
    /// Annotate the Machine of this member, so that core prefers it.
    Mark(String),
    /// Remove that annotation: the member stays.
    Unmark(String),
    /// Delete the Machine of this member. Core drains it, and deletes the member.
    DeleteMachine(String),
    /// Delete this member, for which core has made no Machine yet.
    DeleteMember(String),
    /// Make this member, which is not a node yet, ask for the wanted image.
    SetImage(String),
    /// Bring this member to the wanted image, in place.
    Upgrade(String),
    /// Write `spec.providerIDList`.
    ListIds(Vec<String>),
    /// Write the status.
    Show(PoolShown),
}

/// What to write next, or why nothing.
pub fn decide_pool(pool: &Pool, members: &[Member]) -> Result<PoolAct, PoolWhy> {
    if let Some(what) = &pool.paused {
        let what = what.clone();
        return Err(PoolWhy::Paused { what });
    }
    if pool.deleting {
        return leave(pool, members);
    }
    let wanted = pool.wanted.ok_or(PoolWhy::NoOwner)?;
    if !pool.finalizer {
        return Ok(PoolAct::AddFinalizer);
    }
    list(pool, members)
        .or_else(|| left_over(pool))
        .or_else(|| scale(pool, wanted, members))
        .or_else(|| refresh(pool, members))
        .or_else(|| show(pool, wanted, members))
        .map_or_else(|| wait_or_upgrade(pool, wanted, members), Ok)
}

/// A pool that is too large at this point could only remove a machine that a person has paused.
fn wait_or_upgrade(pool: &Pool, wanted: usize, members: &[Member]) -> Result<PoolAct, PoolWhy> {
    let paused = staying(members).find_map(|one| one.paused.clone());
    match paused.filter(|_| staying(members).count() > wanted) {
        Some(what) => Err(PoolWhy::MachinePaused { what }),
        None => upgrade(pool, wanted, members),
    }
}

/// The pool goes after its machines.
fn leave(pool: &Pool, members: &[Member]) -> Result<PoolAct, PoolWhy> {
    if !pool.finalizer {
        return Err(PoolWhy::Gone);
    }
    if let Some(member) = staying(members).next() {
        return Ok(delete(member));
    }
    if let Some(act) = left_over(pool) {
        return Ok(act);
    }
    match members.len() {
        0 => Ok(PoolAct::RemoveFinalizer),
        left => Err(PoolWhy::Leaving { left }),
    }
}

fn delete(member: &Member) -> PoolAct {
    let name = member.name.clone();
    match member.machine {
        true => PoolAct::DeleteMachine(name),
        false => PoolAct::DeleteMember(name),
    }
}

/// Core deletes a Machine with its member, unless somebody has deleted the member alone.
fn left_over(pool: &Pool) -> Option<PoolAct> {
    pool.dangling.first().cloned().map(PoolAct::DeleteMachine)
}

/// A member that is not a node yet takes its host to the image that it asks for. That may be the
/// image for which no host can join. The same is true of a template for which there is no host.
fn refresh(pool: &Pool, members: &[Member]) -> Option<PoolAct> {
    let is_waiting = |one: &&Member| one.provider_id.is_none() && one.paused.is_none();
    let waiting = || staying(members).filter(is_waiting);
    let old = waiting().find(|one| is_replaced(pool, one)).map(delete);
    let stale = waiting().find(|one| one.stale);
    old.or_else(|| stale.map(|one| PoolAct::SetImage(one.name.clone())))
}

const fn is_replaced(pool: &Pool, member: &Member) -> bool {
    pool.replace && member.changed
}

/// An id stays in the list until its member is gone, which is after the fence: core deletes the Node
/// of an id that has left the list.
fn list(pool: &Pool, members: &[Member]) -> Option<PoolAct> {
    let mut ids: Vec<_> = members
        .iter()
        .filter_map(|one| one.provider_id.clone())
        .collect();
    ids.sort();
    (ids != pool.provider_ids).then_some(PoolAct::ListIds(ids))
}

fn scale(pool: &Pool, wanted: usize, members: &[Member]) -> Option<PoolAct> {
    let stay: Vec<_> = staying(members).collect();
    if stay.len() < wanted {
        let most = pool.batch.clamp(1, AT_ONCE);
        return Some(PoolAct::Create((wanted - stay.len()).min(most)));
    }
    if stay.len() == wanted {
        // The pool was told to shrink, and then was not. The next one to go is not ours to choose.
        let ours = stay.into_iter().find(|one| one.marked_by_us);
        return ours.map(|one| PoolAct::Unmark(one.name.clone()));
    }
    let goes = stay.into_iter().max_by_key(|one| dispensable(one));
    let goes = goes.filter(|one| one.marked || one.paused.is_none());
    let is_marked = |one: &Member| one.marked || one.marked_by_us;
    goes.map(|one| match one.machine && !is_marked(one) {
        true => PoolAct::Mark(one.name.clone()),
        false => delete(one),
    })
}

fn staying(members: &[Member]) -> impl Iterator<Item = &Member> {
    members.iter().filter(|one| !one.leaving)
}

/// Which one goes first: one that a person or the autoscaler has marked, then the one that we have,
/// then one that does not serve, one that is not as it should be, and the newest. One that a person
/// has paused stays unless it is marked.
fn dispensable(member: &Member) -> (bool, bool, bool, bool, bool, i64, &str) {
    (
        member.marked,
        member.paused.is_none(),
        member.marked_by_us,
        !member.available,
        !member.up_to_date || member.changed,
        member.made,
        &member.name,
    )
}

fn show(pool: &Pool, wanted: usize, members: &[Member]) -> Option<PoolAct> {
    let nodes = staying(members).filter(|one| one.provider_id.is_some());
    let shown = PoolShown {
        ready: pool.shown.ready || nodes.count() >= wanted,
        replicas: staying(members).count(),
        up_to_date: staying(members).filter(|one| one.up_to_date).count(),
    };
    (shown != pool.shown).then_some(PoolAct::Show(shown))
}

/// One machine after the other, as many at once as may be unavailable. A machine that is unavailable
/// for any cause counts, and so does the successor of one that was replaced, until it is a node. One
/// failure stops the pool.
fn upgrade(pool: &Pool, wanted: usize, members: &[Member]) -> Result<PoolAct, PoolWhy> {
    let counted = || staying(members).filter(|one| !one.left_out);
    let mut failed = counted().filter_map(|one| Some((one, one.failed.clone()?)));
    if let Some((member, detail)) = failed.next() {
        let name = member.name.clone();
        return Err(PoolWhy::UpgradeFailed { name, detail });
    }
    if let Some(detail) = pool.no_image.clone() {
        return Err(PoolWhy::NoImage { detail });
    }
    let nodes = || staying(members).filter(|one| one.provider_id.is_some());
    let is_due = |one: &&Member| is_old(pool, one) && !one.upgrading && one.paused.is_none();
    let due = nodes().filter(|one| !one.left_out).filter(is_due);
    let due: Vec<_> = due.collect();
    if due.is_empty() {
        let joined = nodes().count();
        return Err(match joined < wanted {
            true => joining(joined, wanted, members),
            false => settled(pool, members),
        });
    }
    let away = counted().filter(|one| !one.available).count();
    let allowed = pool.max_unavailable;
    let oldest = |available: bool| {
        let all = due.iter().filter(|one| one.available == available);
        all.min_by_key(|one| (one.made, &one.name))
    };
    // One that is unavailable already costs nobody anything more.
    let next = oldest(true)
        .filter(|_| away < allowed)
        .or_else(|| oldest(false).filter(|_| away <= allowed));
    let waiting = || {
        let mut away = counted().filter(|one| !one.available);
        away.find_map(note).unwrap_or_default()
    };
    let next = next.ok_or_else(|| PoolWhy::Unavailable {
        away,
        allowed,
        first: waiting(),
    })?;
    Ok(match is_replaced(pool, next) {
        true => delete(next),
        false => PoolAct::Upgrade(next.name.clone()),
    })
}

fn joining(nodes: usize, wanted: usize, members: &[Member]) -> PoolWhy {
    let mut waiting = staying(members).filter(|one| one.provider_id.is_none());
    let first = waiting.find_map(note).unwrap_or_default();
    PoolWhy::Joining {
        nodes,
        wanted,
        first,
    }
}

/// No machine is due: each is as it should be, or on its way, or a person wants it left alone.
fn settled(pool: &Pool, members: &[Member]) -> PoolWhy {
    let mut under_way = staying(members).filter(|one| one.upgrading);
    if let Some(first) = under_way.next() {
        return PoolWhy::Upgrading {
            first: note(first).unwrap_or_default(),
            machines: under_way.count() + 1,
        };
    }
    let old = || staying(members).filter(|one| is_old(pool, one));
    let left_out = old().filter(|one| one.left_out).count();
    match old().find_map(|one| one.paused.clone()) {
        Some(what) => PoolWhy::MachinePaused { what },
        None if left_out > 0 => PoolWhy::LeftOut { machines: left_out },
        None => PoolWhy::Settled,
    }
}

const fn is_old(pool: &Pool, member: &Member) -> bool {
    !member.up_to_date || is_replaced(pool, member)
}

/// A machine and what it waits for, as a part of a message.
fn note(member: &Member) -> Option<String> {
    let says = member.says.as_ref()?;
    Some(format!(" ({}: {says})", member.name))
}
