//! The annotation flow: it upgrades the node of an annotated Machine whose version differs from its
//! InfraMachine's, and reports on the InfraMachine. It works with any kind of InfraMachine that has
//! `status.conditions` and `status.version`.

use std::collections::BTreeMap;

use crate::engine::{Answer, Instruction, Machine, MarkWrite, Why, clean};
use crate::writes::infra::{InfraMachine, InfraReport};
use crate::writes::{self, WriteError};

use super::report::{condition, time};
use super::{HELD, Worker, lock};
use crate::clock::now;

impl Worker {
    pub(super) async fn by_annotation(&self, machine: &Machine) -> Result<Answer, WriteError> {
        let mut infra = match self.infra_of(machine).await {
            Err(WriteError::Missing) => {
                return self.without_infra(machine, "it does not exist").await;
            }
            Err(WriteError::Refused(why)) => return self.without_infra(machine, &why).await,
            read => read?,
        };
        let version = machine.version.clone().unwrap_or_default();
        if has_arrived(&infra, &version) && machine.mark.is_none() {
            self.arrive(machine, &version).await?;
            return Ok(Answer::Done);
        }
        let told = self.told_by(&infra, version.clone(), &BTreeMap::new());
        let answer = refused_is_held(self.pursue(machine, &told, &mut infra).await)?;
        // The mark reminds this leader, or the next one, to restore Ready.
        let marked = self.world.machines.get(&machine.key());
        let marked = marked.is_some_and(|now| now.mark.is_some());
        self.tell(machine, &mut infra, &answer, marked).await?;
        match &answer {
            Answer::Done => self.arrive(machine, &version).await?,
            Answer::Working(_) => {}
            Answer::Idle
            | Answer::Untold
            | Answer::Held(_)
            | Answer::Failed(_)
            | Answer::Cancelled(_) => self.world.queue.add_after(machine.key(), HELD),
        }
        Ok(answer)
    }

    /// Core deletes the InfraMachine before the Machine, so a withdrawal works without it. Nothing
    /// else starts. But the mark of a finished upgrade is removed, and a node whose time is over
    /// gets its health check back.
    async fn without_infra(&self, machine: &Machine, detail: &str) -> Result<Answer, WriteError> {
        if self.world.is_stopped(machine) {
            return self.by_hook(machine).await;
        }
        let (kind, name) = machine
            .infra
            .as_ref()
            .map_or(("InfraMachine", ""), |(_, kind, name)| (kind, name));
        let detail = clean(&format!("{kind} {name} cannot be read: {detail}"));
        let told = Instruction {
            version: machine.version.clone().unwrap_or_default(),
            image: Err(Why::Unwritten {
                detail: detail.clone(),
            }),
        };
        self.act(machine, Some(&told), None).await?;
        // An Event is the only place to report this.
        Err(WriteError::Refused(detail))
    }

    /// Carries out what is due. Before the mark is removed, the InfraMachine gets the final report,
    /// because nothing would trigger that report later.
    async fn pursue(
        &self,
        machine: &Machine,
        told: &Instruction,
        infra: &mut InfraMachine,
    ) -> Result<Answer, WriteError> {
        let foreseen = self.world.decide_for(machine, Some(told), now());
        if foreseen.mark == Some(MarkWrite::Off) {
            let heard = self.tell(machine, infra, &foreseen.answer, false).await;
            self.heard_of_the_end(machine, heard).await?;
        }
        self.act(machine, Some(told), Some(infra)).await
    }

    /// An unreadable image holds a new upgrade, but not a withdrawal.
    pub(super) fn told_by(
        &self,
        infra: &InfraMachine,
        version: String,
        of_extension: &BTreeMap<String, String>,
    ) -> Instruction {
        let settings = &self.world.settings;
        let rules = settings.rules(of_extension);
        let image = rules.and_then(|rules| crate::hooks::image_of(infra.spec(), "", &rules));
        let image = image.map_err(|value| Why::BadImage {
            field: "the InfraMachine's image".to_owned(),
            value: clean(&value),
            accepted: crate::hooks::ACCEPTED_IMAGE.to_owned(),
            wrong: "no node can be asked for it".to_owned(),
        });
        Instruction { version, image }
    }

    /// Reports on the InfraMachine. Ready is False as long as the Machine is marked.
    pub(super) async fn tell(
        &self,
        machine: &Machine,
        infra: &mut InfraMachine,
        answer: &Answer,
        marked: bool,
    ) -> Result<(), WriteError> {
        // From now on its state differs from what the hook flow last reported.
        lock(&self.told).remove(&machine.key());
        let Some(wanted) = condition(answer) else {
            return Ok(());
        };
        let done = *answer == Answer::Done;
        let wanted = InfraReport {
            unready: marked && !done,
            version: machine.version.clone().filter(|_| done),
            ..wanted
        };
        if infra.write(&wanted, &time()).await? {
            return Ok(());
        }
        let kind = machine
            .infra
            .as_ref()
            .map_or("InfraMachine", |(_, kind, _)| kind);
        let why = Why::NoVersionField {
            kind: kind.to_owned(),
        };
        let held = condition(&Answer::Held(why)).unwrap_or(wanted);
        infra.write(&held, &time()).await.map(drop)
    }

    /// Records that the Machine is done. When all requested Machines of its group are done, removes
    /// the annotation from all of them, and from this one last. If another removal fails, this
    /// Machine is then processed again. An annotation from the owner's template stays as long as
    /// the template has it, because the owner would put it back.
    async fn arrive(&self, machine: &Machine, version: &str) -> Result<(), WriteError> {
        lock(&self.arrived).insert(machine.key(), version.to_owned());
        let group = self.world.machines.in_group(&machine.group());
        let mut asked: Vec<_> = group.into_iter().filter(|member| member.asks()).collect();
        asked.sort_by_key(|member| member.key() == machine.key());
        let all = {
            let arrived = lock(&self.arrived);
            asked
                .iter()
                .all(|member| arrived.get(&member.key()) == member.version.as_ref())
        };
        if !all || self.world.asks_by_template(machine) {
            return Ok(());
        }
        for member in asked {
            let after = writes::unask(self.client.clone(), &member).await?;
            self.world.machines.renew(crate::machines::parse(after));
        }
        Ok(())
    }
}

/// A rejected write would be rejected again, so it is reported as held. Other errors pass.
fn refused_is_held(acted: Result<Answer, WriteError>) -> Result<Answer, WriteError> {
    match acted {
        Err(WriteError::Refused(detail)) => Ok(Answer::Held(Why::Unwritten {
            detail: clean(&detail),
        })),
        other => other,
    }
}

/// Nothing is left to do: the InfraMachine has the version, and does not report progress.
fn has_arrived(infra: &InfraMachine, version: &str) -> bool {
    infra.version() == Some(version) && !infra.is_on_its_way()
}
