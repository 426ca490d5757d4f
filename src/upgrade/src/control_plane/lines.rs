//! The lines of a survey, for a person.

use super::component::Component;
use super::etcd::EtcdTag;
use super::etcd_step::{Step, etcd_step, undo};
use super::expiry::{Expiry, expiry};
use super::member::Member;
use super::quorum::{Hold, Leave, Quorum, quorum};
use super::room::{Place, wanted};
use super::survey::{Kind, Survey};

/// The lines: a name and what is found.
#[must_use]
pub fn lines(survey: &Survey) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("node", node(survey)),
        ("kubernetes", kubernetes(survey)),
        ("upgrade", upgrade(survey)),
        ("etcd", etcd(survey)),
        ("members", members(survey)),
    ];
    let names = survey
        .members
        .iter()
        .map(|member| member.name.as_str().len());
    let width = names.max().unwrap_or(0).min(40);
    lines.extend(
        survey
            .members
            .iter()
            .map(|one| ("", member(survey, one, width))),
    );
    lines.extend([
        ("drift", drift(survey)),
        ("certificates", certificates(survey)),
    ]);
    lines.extend(
        survey
            .room
            .iter()
            .map(|place| ("room", room(survey, place))),
    );
    lines.push(("lock", lock(survey)));
    lines
}

fn node(survey: &Survey) -> String {
    let kind = match survey.kind {
        Kind::Stacked => "etcd is on the control-plane nodes",
        Kind::External => "etcd is external",
    };
    format!("{}; {kind}", survey.node)
}

fn kubernetes(survey: &Survey) -> String {
    let versions = &survey.versions;
    let cluster = versions.cluster.as_ref();
    let cluster = cluster.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let mut own: Vec<String> = Vec::new();
    for component in Component::KUBERNETES {
        let version = versions.manifests.get(&component);
        let version = version.map_or_else(|| "unknown".to_owned(), ToString::to_string);
        if !own.contains(&version) {
            own.push(version);
        }
    }
    format!(
        "the cluster is at {cluster}, this node's pods are at {}",
        own.join(", ")
    )
}

fn upgrade(survey: &Survey) -> String {
    match (&survey.versions.image, survey.verb()) {
        (None, _) => "not asked; --target-version asks about an image".to_owned(),
        (Some(image), None) => format!("to {image}: unknown without kubeadm-config"),
        (Some(image), Some(verb)) => format!("to {image}: {}", verb.words()),
    }
}

fn etcd(survey: &Survey) -> String {
    let versions = &survey.versions;
    match (survey.kind, &versions.etcd, &versions.etcd_wanted) {
        (Kind::External, ..) => "external, and kubeadm does not change it".to_owned(),
        (Kind::Stacked, None, _) => "unknown".to_owned(),
        (Kind::Stacked, Some(live), None) => {
            format!("{live}; the one of the new kubeadm is not known here")
        }
        (Kind::Stacked, Some(live), Some(wanted)) => etcd_to(survey, live, wanted),
    }
}

fn etcd_to(survey: &Survey, live: &EtcdTag, wanted: &EtcdTag) -> String {
    let (members, voters) = (survey.etcd_versions(), survey.voters());
    match etcd_step(live, wanted, &members) {
        Ok(step @ Step::Nothing) => format!("{live}. {}", undo(step, voters)),
        Ok(step @ Step::Patch) => format!("{live} to {wanted}, a patch. {}", undo(step, voters)),
        Ok(step @ Step::Minor) => format!("{live} to {wanted}, a minor. {}", undo(step, voters)),
        Ok(step @ Step::TooLarge) => format!("{live} to {wanted}. {}", undo(step, voters)),
        Err(old) => format!("{live} to {wanted}, too far from {}", old.found),
    }
}

fn members(survey: &Survey) -> String {
    let all = survey.members.len();
    let healthy = survey.members.iter().filter(|one| one.is_healthy()).count();
    match (survey.kind, survey.me) {
        _ if all == 0 => "unknown".to_owned(),
        (Kind::Stacked | Kind::External, Some(me)) => {
            format!(
                "{healthy} of {all} healthy; {}",
                margin(&quorum(&survey.members, me))
            )
        }
        (Kind::Stacked, None) => format!("{healthy} of {all} healthy"),
        (Kind::External, None) => {
            format!("{healthy} of {all} healthy; none is on this node")
        }
    }
}

fn margin(quorum: &Quorum) -> String {
    match &quorum.may {
        Ok(Leave::Alone) => "this is the only one".to_owned(),
        Ok(Leave::Spare(0)) => "this one may be away, and then no other".to_owned(),
        Ok(Leave::Spare(spare)) => format!("this one may be away, and {spare} more"),
        Err(
            Hold::Absent
            | Hold::TwoMembers
            | Hold::Learner(_)
            | Hold::NotStarted(_)
            | Hold::TooFew { .. },
        ) => "this one must stay".to_owned(),
    }
}

fn member(survey: &Survey, member: &Member, width: usize) -> String {
    let version = member
        .version
        .map_or_else(|| "-".to_owned(), |version| version.to_string());
    let own = survey.me == Some(member.id);
    let words = [
        own.then_some("this node"),
        member.leader.then_some("leads"),
        member.learner.then_some("learner"),
        (!member.started).then_some("never started"),
    ];
    let mut words: Vec<String> = words.into_iter().flatten().map(str::to_owned).collect();
    words.extend(member.sick.iter().map(ToString::to_string));
    let line = format!(
        "{:<width$}  {version:<7}  {}",
        member.called(),
        words.join(", ")
    );
    line.trim_end().to_owned()
}

fn drift(survey: &Survey) -> String {
    match survey.drift.as_deref() {
        None => "not compared".to_owned(),
        Some([]) => "none".to_owned(),
        Some(all) => format!("{} settings that kubeadm would not write so", all.len()),
    }
}

fn certificates(survey: &Survey) -> String {
    let days = |seconds: u64| seconds / 86_400;
    match expiry(&survey.certificates, survey.at) {
        Expiry::Unknown => "unknown".to_owned(),
        Expiry::Early(one) => format!("{} is not valid yet", one.name),
        Expiry::Over(over) => format!("{} have ended", over.len()),
        Expiry::Soon(first) | Expiry::Later(first) => {
            format!(
                "{} ends first, in {} days",
                first.name,
                days(first.until - survey.at)
            )
        }
    }
}

fn room(survey: &Survey, place: &Place) -> String {
    let needed = wanted(place.r#use, survey.db_bytes.unwrap_or(0));
    let mib = |bytes: u64| bytes >> 20;
    let (path, free) = (&place.path, mib(place.free_bytes));
    format!(
        "{path} has {free} MiB, and an upgrade takes {} MiB",
        mib(needed)
    )
}

fn lock(survey: &Survey) -> String {
    match &survey.lock {
        None => "free".to_owned(),
        Some(lock) => format!("held by {}", lock.holder),
    }
}
