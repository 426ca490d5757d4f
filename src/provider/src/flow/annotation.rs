//! The annotation flow: a Machine annotated so, whose version is not its InfraMachine's, has its node upgraded; the InfraMachine
//! says how it stands. Works with any kind of InfraMachine that has `status.conditions` and `status.version`.

use std::collections::BTreeMap;

use crate::engine::{Answer, Machine, MarkWrite, Told, Why, clean};
use crate::hands::infra::{InfraMachine, Wanted};
use crate::hands::{self, HandError};

use super::report::{condition, time};
use super::{HELD, Worker, lock};
use crate::world::now;

impl Worker {
    pub(super) async fn by_annotation(&self, machine: &Machine) -> Result<Answer, HandError> {
        let mut infra = match self.infra.of(machine).await {
            Err(HandError::Missing) => {
                return self.without_infra(machine, "it does not exist").await;
            }
            Err(HandError::Refused(why)) => return self.without_infra(machine, &why).await,
            read => read?,
        };
        let version = machine.version.clone().unwrap_or_default();
        if has_arrived(&infra, &version) && machine.mark.is_none() {
            self.arrive(machine, &version).await?;
            return Ok(Answer::Done);
        }
        let told = self.told_by(&infra, version.clone(), &BTreeMap::new());
        let answer = refused_is_held(self.pursue(machine, &told, &mut infra).await)?;
        // The mark is what reminds us, or whoever comes after us, to give Ready back.
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

    /// Core deletes it before the Machine goes; what is to stop is stopped without it. Nothing else begins: but the mark of what has come
    /// to its end goes, and a node whose time is over gets its health check back.
    async fn without_infra(&self, machine: &Machine, detail: &str) -> Result<Answer, HandError> {
        if self.world.is_stopped(machine) {
            return self.by_hook(machine).await;
        }
        let (kind, name) = machine
            .infra
            .as_ref()
            .map_or(("InfraMachine", ""), |(_, kind, name)| (kind, name));
        let detail = clean(&format!("{kind} {name} cannot be read: {detail}"));
        let told = Told {
            version: machine.version.clone().unwrap_or_default(),
            image: Err(Why::Unwritten {
                detail: detail.clone(),
            }),
        };
        self.act(machine, Some(&told), None).await?;
        // No place to say it but an Event.
        Err(HandError::Refused(detail))
    }

    /// Carries out what is due. Where the mark is to go, the InfraMachine hears of the end before: nobody would come back for that.
    async fn pursue(
        &self,
        machine: &Machine,
        told: &Told,
        infra: &mut InfraMachine,
    ) -> Result<Answer, HandError> {
        let foreseen = self.world.decide_for(machine, Some(told), now());
        if foreseen.mark == Some(MarkWrite::Off) {
            let heard = self.tell(machine, infra, &foreseen.answer, false).await;
            self.heard_of_the_end(machine, heard).await?;
        }
        self.act(machine, Some(told), Some(infra)).await
    }

    /// An image that cannot be read holds what is to be begun, and nothing that is to stop.
    pub(super) fn told_by(
        &self,
        infra: &InfraMachine,
        version: String,
        of_extension: &BTreeMap<String, String>,
    ) -> Told {
        let settings = &self.world.settings;
        let rules = settings.rules(of_extension);
        let image = rules.and_then(|rules| crate::hooks::image_of(infra.spec(), "", &rules));
        let image = image.map_err(|value| Why::BadImage {
            field: "the InfraMachine's image".to_owned(),
            value: clean(&value),
            accepted: crate::hooks::ACCEPTED_IMAGE.to_owned(),
        });
        Told { version, image }
    }

    /// Tells the InfraMachine; Ready is held back as long as the Machine is marked.
    pub(super) async fn tell(
        &self,
        machine: &Machine,
        infra: &mut InfraMachine,
        answer: &Answer,
        marked: bool,
    ) -> Result<(), HandError> {
        // It says something else from now on than it was told on the other road.
        lock(&self.told).remove(&machine.key());
        let Some(wanted) = condition(answer) else {
            return Ok(());
        };
        let done = *answer == Answer::Done;
        let wanted = Wanted {
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

    /// Notes that it has arrived; when all of its group that were asked have, the annotation goes from all of them. From itself at last: it is
    /// looked at again where that of another could not be taken off.
    async fn arrive(&self, machine: &Machine, version: &str) -> Result<(), HandError> {
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
        if !all {
            return Ok(());
        }
        for member in asked {
            let after = hands::unask(self.client.clone(), &member).await?;
            self.world.machines.renew(crate::machines::parse(after));
        }
        Ok(())
    }
}

/// What is refused is refused again, so it is said; the rest passes.
fn refused_is_held(acted: Result<Answer, HandError>) -> Result<Answer, HandError> {
    match acted {
        Err(HandError::Refused(detail)) => Ok(Answer::Held(Why::Unwritten {
            detail: clean(&detail),
        })),
        other => other,
    }
}

/// Nothing is left to do: it has the version, and we have not said that it is still on its way there.
fn has_arrived(infra: &InfraMachine, version: &str) -> bool {
    infra.version() == Some(version) && !infra.is_on_its_way()
}
