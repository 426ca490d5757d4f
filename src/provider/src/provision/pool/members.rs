//! What is known of the machines of a pool.

use std::collections::HashMap;

use infrastructure::{Host, Machine, Member, Node, Phase};
use kube::{Resource, ResourceExt};

use super::super::work::Provision;
use super::super::{facts, pauses, wire};
use super::known::{Read, Wanted};
use crate::clock::now;
use crate::engine::{Answer, Instruction};
use crate::kinds::{BOOTSTRAP, CareenMachine, CareenMachinePoolStatus};
use crate::machines::Key;
use crate::names;

impl Provision {
    /// The members of a pool, each with the image that it should run.
    pub(super) fn members(&self, read: &Read) -> Vec<(Member, Option<Wanted>)> {
        let machines: HashMap<String, &wire::Machine> = read
            .machines
            .iter()
            .map(|one| (one.name_any(), one))
            .collect();
        let member = |object: &CareenMachine| {
            let machine = machines.get(&object.name_any()).copied();
            self.member(read, object, machine)
        };
        read.ours.iter().map(member).collect()
    }

    fn member(
        &self,
        read: &Read,
        object: &CareenMachine,
        machine: Option<&wire::Machine>,
    ) -> (Member, Option<Wanted>) {
        let space = object.namespace().unwrap_or_default();
        let host = object.spec.host_ref.as_ref();
        let host = host.and_then(|host| self.inventory.host(&space, &host.name));
        let known = facts::machine(object, machine, read.cluster.as_ref());
        let node = self.node(
            &space,
            &known,
            machine,
            host.as_ref(),
            read.cluster.as_ref(),
        );
        let provider_id = known.provider_id.clone().filter(|_| known.provisioned);
        let wanted = self.wanted(read, object, host.as_ref());
        let answer = wanted
            .as_ref()
            .and_then(|wanted| self.answer(object, machine, wanted));
        let arrived = wanted.as_ref().is_some_and(|wanted| {
            let elsewhere = answer.is_none() && asks(machine);
            (runs(host.as_ref(), wanted) && !elsewhere) || has_arrived(object, machine, wanted)
        });
        let stale = object.spec.request.os_image != read.object.spec.request.template.os_image;
        let up_to_date = match &provider_id {
            Some(_) => arrived,
            None => !stale,
        };
        let failed = answer.as_ref().filter(|_| !up_to_date).and_then(failure);
        let left_out = machine.is_some_and(|one| has(one, names::LEAVE_OUT));
        let upgrading = answer.is_some() && !up_to_date && failed.is_none() && !left_out;
        let says = answer.filter(|_| upgrading).map(|answer| answer.code());
        let member = Member {
            name: object.name_any(),
            made: made(object),
            leaving: is_leaving(object) || machine.is_some_and(is_leaving),
            machine: machine.is_some(),
            marked: mark(machine).is_some_and(|by| by != names::MANAGER),
            marked_by_us: mark(machine).is_some_and(|by| by == names::MANAGER),
            paused: self.paused_member(read, &known, machine),
            left_out,
            changed: changed(read, object),
            // A Ready Node alone is not enough: core may not know it yet.
            available: provider_id.is_some() && node == Node::Ready && !upgrading,
            up_to_date,
            upgrading,
            failed,
            stale,
            says: says.or_else(|| waits_for(object)),
            provider_id,
        };
        (member, wanted)
    }

    /// The Machine, or its Node, if a person has paused it.
    fn paused_member(
        &self,
        read: &Read,
        known: &Machine,
        machine: Option<&wire::Machine>,
    ) -> Option<String> {
        let machine = machine?;
        let space = machine.namespace().unwrap_or_default();
        let on_node = || self.node_left_alone(&space, known, read.cluster.as_ref());
        pauses::hold(&machine.metadata, "Machine", false).or_else(on_node)
    }

    /// The image of the template, or that of an ImageCatalogue for the version of the MachinePool.
    fn wanted(&self, read: &Read, object: &CareenMachine, host: Option<&Host>) -> Option<Wanted> {
        let version = read.owner.as_ref()?.spec.template.spec.version.clone();
        let architecture = host.and_then(|host| host.architecture.as_deref());
        let image = match &read.object.spec.request.template.os_image {
            Some(image) => Ok(image.clone()),
            None => self.image_of(object, &version, architecture),
        };
        let image = image.map_err(|why| as_a_part(&why));
        Some(Wanted { version, image })
    }

    /// What the annotation flow says of the upgrade to this image, once the Machine asks for it.
    fn answer(
        &self,
        object: &CareenMachine,
        machine: Option<&wire::Machine>,
        wanted: &Wanted,
    ) -> Option<Answer> {
        let image = wanted.image.as_ref().ok()?;
        let same_image = object.spec.request.os_image.as_ref() == Some(image);
        if !same_image || !machine.is_some_and(|one| asks_for(one, &wanted.version)) {
            return None;
        }
        let key = Key::new(object.namespace().unwrap_or_default(), object.name_any());
        let told = Instruction {
            version: wanted.version.clone(),
            image: Ok(Some(image.parse().ok()?)),
        };
        let seen = self.world.machines.get(&key);
        let decided = seen.map(|seen| self.world.decide_for(&seen, Some(&told), now()));
        // The watch may not show the Machine yet.
        Some(decided.map_or(Answer::Untold, |decision| decision.answer))
    }
}

/// Whether the host runs the image. It says so only after the trial.
fn runs(host: Option<&Host>, wanted: &Wanted) -> bool {
    let running = host.filter(|host| host.phase == Phase::Joined);
    let running = running.and_then(|host| host.image.as_ref());
    running.is_some() && running == wanted.image.as_ref().ok()
}

/// Whether the annotation flow has brought the machine to the image. Its host may say so later.
fn has_arrived(object: &CareenMachine, machine: Option<&wire::Machine>, wanted: &Wanted) -> bool {
    let reported = object.status.as_ref().and_then(|one| one.version.as_ref());
    let same_image = object.spec.request.os_image.as_ref() == wanted.image.as_ref().ok();
    same_image && reported == Some(&wanted.version) && !asks(machine)
}

/// Whether an upgrade is asked for, to whatever image.
fn asks(machine: Option<&wire::Machine>) -> bool {
    machine.is_some_and(|one| has(one, names::ASK))
}

fn has(machine: &wire::Machine, key: &str) -> bool {
    machine.annotations().contains_key(key)
}

/// Whether the pool has ordered the upgrade of this Machine.
fn asks_for(machine: &wire::Machine, version: &str) -> bool {
    let notes = machine.annotations();
    let asked = notes.get(names::POOL_VERSION).map(String::as_str);
    notes.contains_key(names::ASK) && asked == Some(version)
}

fn failure(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Failed(why) => Some(as_a_part(&why.to_string())),
        Answer::Idle
        | Answer::Untold
        | Answer::Working(_)
        | Answer::Held(_)
        | Answer::Done
        | Answer::Cancelled(_) => None,
    }
}

/// As a part of a longer message.
fn as_a_part(why: &str) -> String {
    why.trim_end_matches('.').to_owned()
}

/// Who has marked a Machine as the one to go: our value is our name, that of the cluster autoscaler
/// is a time.
fn mark(machine: Option<&wire::Machine>) -> Option<&str> {
    let mark = machine?.annotations().get(names::DELETE_MACHINE)?;
    Some(mark.as_str())
}

/// Whether the pool would make this machine in another way now, one that no upgrade in place brings.
fn changed(read: &Read, object: &CareenMachine) -> bool {
    let owner = read.owner.as_ref();
    let data = owner.and_then(|owner| {
        let bootstrap = &owner.spec.template.spec.bootstrap;
        bootstrap.data_secret_name.as_ref()
    });
    let used = object.annotations().get(BOOTSTRAP);
    let other_data = used.is_some() && data.is_some() && used != data;
    let (is, wanted) = (&object.spec.request, &read.object.spec.request.template);
    let same_hosts = is.host_selector == wanted.host_selector
        && is.host_name == wanted.host_name
        && is.minimum == wanted.minimum
        && is.release == wanted.release;
    other_data || !same_hosts
}

fn is_leaving(object: &impl ResourceExt) -> bool {
    object.meta().deletion_timestamp.is_some()
}

fn made(object: &CareenMachine) -> i64 {
    let time = object.meta().creation_timestamp.as_ref();
    time.map_or(0, |time| time.0.as_second())
}

fn waits_for(object: &CareenMachine) -> Option<String> {
    let conditions = &object.status.as_ref()?.conditions;
    let mut ready = conditions.iter().filter(|one| one.kind == names::READY);
    ready.next().map(|one| one.reason.clone())
}

/// What the status of a pool says.
pub fn shown(status: &CareenMachinePoolStatus) -> infrastructure::PoolShown {
    let number = |count: Option<i32>| count.and_then(|count| usize::try_from(count).ok());
    infrastructure::PoolShown {
        ready: status.ready.unwrap_or(false),
        // Nothing was counted yet.
        replicas: number(status.replicas).unwrap_or(usize::MAX),
        up_to_date: number(status.up_to_date_replicas).unwrap_or(usize::MAX),
    }
}
