//! The leaders: they read, they decide with the code that ships, they write. Between any two of
//! these another leader may do anything, and each may die.

use infrastructure::{
    AWAITS_DATA, Act, Data, Facts, Held, Holder, HostAct, HostFacts, HostRef, Node, Owner,
    OwnerCluster, Phase, PodsLeft, Policy, Wanted, decide, tend,
};

use crate::mutant::Mutant;
use crate::objects::{Claim, Host, Machine, Named};
use crate::world::{Setup, State};
use crate::write::Write;

const NOW: i64 = 100_000;

/// A machine whose host was chosen so long ago is late.
const LATE: i64 = 5_000;

/// The hash of the data of each machine.
fn hash(machine: usize) -> String {
    format!("data-{machine}")
}

fn claim_name(id: u8) -> String {
    format!("{id:016x}")
}

/// An id that no claim has. Two leaders may make one up for the same machine at once, but only one
/// of them can write it.
fn new_id(state: &State, machine: usize) -> u8 {
    let first = u8::try_from(machine).unwrap_or(0) * crate::world::CLAIMS;
    first + state.claims[machine]
}

fn claim_id(name: &str) -> u8 {
    u8::from_str_radix(name, 16).unwrap_or(u8::MAX)
}

fn host_name(at: usize) -> String {
    format!("h{at}")
}

fn host_at(name: &str) -> usize {
    name.trim_start_matches('h').parse().unwrap_or(0)
}

fn machine_name(at: usize) -> String {
    format!("m{at}")
}

/// A host as the code sees it.
fn host(state: &State, at: usize, mutant: Option<Mutant>) -> infrastructure::Host {
    let object = state.objects.hosts[at];
    let silent = if state.real[at].away { 10_000 } else { 0 };
    let mut observed = object.observed;
    if mutant == Some(Mutant::AnyPhaseIsFenced) && object.phase.is_fenced() {
        observed = object.claim.map(|claim| claim.id);
    }
    let note = |id: u8| (claim_name(id), NOW - 1000);
    infrastructure::Host {
        name: host_name(at),
        hostname: host_name(at),
        approved: true,
        finalizer: true,
        cordoned: object.cordoned,
        claim: object.claim.map(full),
        orphan_seen: object.seen.map(note),
        orphan: object.named.map(claim_name),
        phase: object.phase,
        step: object.asks.then(|| AWAITS_DATA.to_owned()),
        observed: observed.map(claim_name),
        image: Some("image".to_owned()),
        heard: NOW - silent,
        renewed: true,
        ..infrastructure::Host::default()
    }
}

fn full(claim: Claim) -> infrastructure::Claim {
    infrastructure::Claim {
        id: claim_name(claim.id),
        machine: machine_name(claim.machine),
        cluster: "c".to_owned(),
        wanted: if claim.released {
            Wanted::Released
        } else {
            Wanted::Joined
        },
        bootstrap_hash: claim.told.then(|| hash(claim.machine)),
        lost: claim.lost,
        ..infrastructure::Claim::default()
    }
}

fn machine(at: usize, was: Machine, waited: i64) -> infrastructure::Machine {
    let named = |named: Named| HostRef {
        name: host_name(named.host),
        claim: claim_name(named.claim),
        since: NOW - waited,
        committed: named.committed,
    };
    let tried = (0..8).filter(|bit| was.tried & (1 << bit) != 0);
    infrastructure::Machine {
        namespace: "ns".to_owned(),
        name: machine_name(at),
        deleting: was.deleting,
        finalizer: was.finalizer,
        owner: Some(Owner {
            has_data: true,
            ..Owner::default()
        }),
        join_seconds: 1200,
        host: was.named.map(named),
        provider_id: was.has_id.then(|| "id".to_owned()),
        provisioned: was.provisioned,
        tried: tried.map(host_name).collect(),
        ..infrastructure::Machine::default()
    }
}

/// The Node of a claim: it is Ready while its kubelet runs on a host that is not away.
fn node(state: &State, named: Option<Named>) -> Node {
    let Some(named) = named else {
        return Node::Missing { visible: 1000 };
    };
    let real = state.real[named.host];
    match (real.kubelet == Some(named.claim), real.away) {
        (true, false) => Node::Ready,
        (true, true) => Node::NotReady { seconds: 1000 },
        (false, _) => Node::Missing { visible: 1000 },
    }
}

/// Everything that a leader may decide to write after it has read a machine. The list of hosts to
/// choose from may be as old as it likes: every host may look free in it.
pub fn for_machine(setup: &Setup, state: &State, at: usize, was: Machine) -> Vec<Write> {
    let mut all: Vec<Write> = Vec::new();
    let choices = if was.named.is_some() { 1 } else { setup.hosts };
    let times: &[i64] = if setup.restores { &[0, LATE] } else { &[0] };
    for free in 0..choices {
        for waited in times {
            let write = decided(setup, state, (at, was), free, *waited);
            if let Some(write) = write.filter(|write| !all.contains(write)) {
                all.push(write);
            }
        }
    }
    all
}

fn decided(
    setup: &Setup,
    state: &State,
    (at, was): (usize, Machine),
    free: usize,
    waited: i64,
) -> Option<Write> {
    let named = was.named;
    let there = named.map(|named| host(state, named.host, setup.mutant));
    let as_free = infrastructure::Host {
        claim: None,
        phase: Phase::Available,
        cordoned: false,
        heard: NOW,
        ..host(state, free, None)
    };
    let held = named.and_then(|named| state.objects.hosts[named.host].secret);
    let held = held.map_or(Held::Nothing, |claim| Held::Data {
        claim: claim_name(claim),
        hash: hash(at),
    });
    let mut machine = machine(at, was, waited);
    let cluster = OwnerCluster {
        name: "c".to_owned(),
        provisioned: true,
        initialized: true,
        brake_off: false,
    };
    let decide_it = |machine: &infrastructure::Machine| {
        decide(&Facts {
            now: NOW,
            machine,
            cluster: Some(&cluster),
            host: there.as_ref(),
            hosts: &[&as_free],
            node: &node(state, named),
            data: &Data::Hash(hash(at)),
            held: &held,
            image: &|_| Ok("image".to_owned()),
            failed_with: &|_| 0,
            leads_for: 10_000,
            brake: None,
            new_id: &claim_name(new_id(state, at)),
            policy: &Policy::default(),
        })
    };
    let mut act = decide_it(&machine).act;
    if setup.mutant == Some(Mutant::DataWithoutCommitment) && act == Some(Act::Commit) {
        if let Some(host) = &mut machine.host {
            host.committed = true;
        }
        act = decide_it(&machine).act;
    }
    let act = broken(setup, state, was, act);
    act.and_then(|act| write(setup, state, at, was, act))
}

/// What a mutant writes instead.
fn broken(setup: &Setup, state: &State, was: Machine, act: Option<Act>) -> Option<Act> {
    let there = was.named.map(|named| state.objects.hosts[named.host]);
    let claim = there.and_then(|host| host.claim);
    let own = claim.filter(|claim| was.named.is_some_and(|named| named.claim == claim.id));
    match setup.mutant {
        Some(Mutant::FinalizerWithTheOrder)
            if was.deleting && was.finalizer && own.is_some_and(|claim| claim.released) =>
        {
            Some(Act::RemoveFinalizer)
        }
        Some(Mutant::GivesUpTheLiving)
            if was.deleting && own.is_some_and(|claim| claim.released && !claim.lost) =>
        {
            Some(Act::GiveUp)
        }
        Some(Mutant::OverwritesClaims) if claim.is_some() && own.is_none() && !was.deleting => {
            Some(Act::PutClaim(infrastructure::Claim::default()))
        }
        Some(Mutant::ChoosesAgain)
            if act.is_none() && there.is_some_and(|host| host.phase == Phase::Failed) =>
        {
            Some(Act::ClearHost { tried: None })
        }
        Some(Mutant::LooksForNoNode)
            if act == Some(Act::Commit)
                && there.is_some_and(|host| !host.asks && host.phase != Phase::Joined) =>
        {
            Some(Act::Release)
        }
        Some(_) | None => act,
    }
}

fn write(setup: &Setup, state: &State, at: usize, was: Machine, act: Act) -> Option<Write> {
    let host = was.named.map(|named| named.host);
    Some(match act {
        Act::AddFinalizer => Write::Finalizer(at, true),
        Act::RemoveFinalizer => Write::Finalizer(at, false),
        Act::SetHost(host) => {
            if state.claims[at] >= setup.claims {
                return None;
            }
            let named = Named {
                host: host_at(&host.name),
                claim: claim_id(&host.claim),
                committed: false,
            };
            Write::SetHost(at, named)
        }
        Act::ClearHost { tried } => Write::ClearHost(at, tried.map(|one| host_at(&one.host))),
        Act::PutClaim(claim) => {
            let own = Claim {
                id: was.named?.claim,
                machine: at,
                released: claim.wanted == Wanted::Released,
                told: false,
                lost: false,
            };
            Write::PutClaim(host?, own)
        }
        Act::Commit => Write::Commit(at),
        Act::CopyData { .. } => Write::Copy(host?, Some(was.named?.claim)),
        Act::RemoveData => Write::Copy(host?, None),
        Act::TellData { .. } => Write::Tell(host?),
        Act::SetProviderId(_) => Write::SetId(at),
        Act::SetProvisioned => Write::Provisioned(at),
        Act::Release => Write::Release(host?),
        Act::GiveUp => Write::GiveUp(host?),
    })
}

/// What a leader decides for a host. It reads the host, and then the machine of its claim.
pub fn for_host(setup: &Setup, state: &State, at: usize) -> Option<Write> {
    let object = state.objects.hosts[at];
    let seen = host(state, at, None);
    let policy = Policy {
        release_orphans: setup.release_orphans,
        ..Policy::default()
    };
    let decision = tend(&HostFacts {
        now: NOW,
        host: &seen,
        word_since: None,
        registration: None,
        has_account: true,
        handed_over: None,
        renewed_at: Some(NOW),
        holder: holder(setup, state, at, object),
        paused: false,
        leads_for: 10_000,
        orphans: (1, 10),
        // The pods have left: the model is about claims.
        node: Some(&Node::Ready),
        left_alone: None,
        pods: Some(&PodsLeft::default()),
        policy: &policy,
    });
    let claim = object.claim;
    if setup.mutant == Some(Mutant::ClaimWithTheOrder) && claim.is_some_and(|claim| claim.released)
    {
        return Some(Write::RemoveClaim(at, false));
    }
    Some(match decision.act? {
        HostAct::Release => Write::Release(at),
        HostAct::RemoveClaim { cordon } => Write::RemoveClaim(at, cordon),
        HostAct::MarkOrphan(id) => Write::Seen(at, Some(claim_id(&id))),
        HostAct::UnmarkOrphan => Write::Seen(at, None),
        HostAct::NameOrphan(id) => Write::Orphan(at, claim_id(&id)),
        HostAct::PutOrder(claim) => {
            let order = Claim {
                id: claim_id(&claim.id),
                machine: usize::MAX,
                released: true,
                told: false,
                lost: false,
            };
            Write::PutClaim(at, order)
        }
        HostAct::Approve
        | HostAct::AddFinalizer
        | HostAct::RemoveFinalizer
        | HostAct::MakeAccount
        | HostAct::HandOver
        | HostAct::EndHandover
        | HostAct::Drain
        | HostAct::ForgetWord => return None,
    })
}

fn holder(setup: &Setup, state: &State, at: usize, object: Host) -> Holder {
    if setup.mutant == Some(Mutant::EverybodyIsAnOrphan) {
        return Holder::Nobody;
    }
    let joined = object.observed.filter(|_| object.phase == Phase::Joined);
    let Some(id) = object.claim.map(|claim| claim.id).or(joined) else {
        return Holder::Unread;
    };
    let has_it = |machine: &Machine| {
        let named = machine.named.filter(|_| machine.exists);
        named.is_some_and(|named| named.host == at && named.claim == id)
    };
    if state.objects.machines.iter().any(has_it) {
        Holder::Machine
    } else {
        Holder::Nobody
    }
}
