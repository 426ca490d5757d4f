//! The effects, divided at the points where a cut can happen.

use upgrade::{Deployment, Effect, Finished, ImageFacts, ImageInfo, Outcome, Reason, Room, Step};

use super::{Cut, Flaw, Kubelet, World, deployment};

/// How an act ended in the world.
pub(super) enum Ended {
    /// The decision logic gets the outcome.
    Told(Box<Finished>),
    /// The machine goes down.
    Rebooting,
}

impl World {
    /// Performs one step of the agent.
    pub(super) fn perform(&mut self, step: Step) -> Result<Ended, Cut> {
        self.point(&format!("before {}", step.name()))?;
        self.say(format!(
            "{} in {}",
            step.name(),
            &self.running.system.digest.as_str()[..1]
        ));
        self.pass_time(1000);
        if matches!(step, Step::Reboot { .. }) && self.refusals == 0 {
            return Ok(Ended::Rebooting);
        }
        let outcome = self.effect(&step)?;
        self.point(&format!("after {}", step.name()))?;
        Ok(Ended::Told(Box::new(Finished { step, outcome })))
    }

    /// `kubeadm upgrade node` succeeds.
    pub(super) const fn kubeadm(&mut self) {
        self.running.kubeadm = true;
        self.disk.configured = true;
    }

    fn effect(&mut self, step: &Step) -> Result<Outcome, Cut> {
        let needs_api = matches!(
            step,
            Step::Exclude | Step::Drain { .. } | Step::Kubeadm | Step::Release
        );
        if needs_api && !self.api_is_up() {
            let detail = "refused".to_owned();
            return Ok(Outcome::Failed(Reason::ApiAway { detail }));
        }
        let commit = || deployment("b", 0).digest;
        match step {
            Step::Fetch { .. } => {
                self.disk.fetched = true;
                return Ok(Outcome::Done(Effect::Fetched { commit: commit() }));
            }
            Step::Verify { .. } => return Ok(Outcome::Done(Effect::Verified(self.facts()))),
            Step::Rehearse => return Ok(Outcome::Done(Effect::Rehearsed { blocked: None })),
            Step::Deploy { .. } => return self.deploy(),
            Step::Drain { .. } => {
                self.cordoned = true;
                self.point("between cordon and drain")?;
            }
            Step::Snapshot => {
                let untouched = self.disk.kubelet == Kubelet::Old;
                assert!(
                    untouched,
                    "saves what the trial wrote\n{}",
                    self.log.join("\n")
                );
                self.disk.snapshot = None;
                self.point("between the former snapshot and this one")?;
                self.disk.snapshot = Some(self.disk.kubelet);
                self.disk.restored = self.record().upgrade.map(|up| up.attempt.tries);
            }
            Step::Arm { deployment } => self.disk.one_shot = Some(deployment.clone()),
            Step::Disarm => self.disk.one_shot = None,
            Step::Kubeadm => self.kubeadm(),
            Step::Bless { .. } => {
                self.bless();
                if self.fails_behind_bless {
                    return Ok(deploy_failed("bless", "a leftover cannot be removed"));
                }
            }
            Step::Reinstate { deployment, .. } => self
                .disk
                .deployments
                .sort_by_key(|one| !one.same(deployment)),
            Step::Release => self.cordoned = false,
            Step::Undo { .. } => self.undo()?,
            Step::Clean => self.clean(),
            Step::Reboot { .. } => {
                self.refusals -= 1;
                let detail = "somebody holds a lock".to_owned();
                return Ok(Outcome::Failed(Reason::RebootRefused { detail }));
            }
            Step::PreHooks
            | Step::Exclude
            | Step::PostHooks { .. }
            | Step::Unmark
            | Step::Settle
            // This machine is a worker.
            | Step::Control { .. }
            | Step::Pass => {}
        }
        Ok(Outcome::Done(Effect::Plain))
    }

    /// What careen-deploy finds in the new image.
    fn facts(&self) -> ImageFacts {
        let unattended = self.flaw == Flaw::Unattended;
        let lacks = unattended.then(|| upgrade::names::AGENT_UNIT.to_owned());
        ImageFacts {
            lacks: Box::from_iter(lacks),
            ..facts()
        }
    }

    fn undo(&mut self) -> Result<(), Cut> {
        self.disk
            .deployments
            .retain(|one| one.digest.as_str().starts_with('a'));
        if let Some(default) = self.disk.deployments.first_mut() {
            (default.pinned, default.kept) = (false, false);
        }
        self.point("between deployment and objects")?;
        self.disk.fetched = false;
        Ok(())
    }

    fn clean(&mut self) {
        let running = self.running.system.clone();
        let mut kept = 0;
        self.disk.deployments.retain(|one| {
            kept += u32::from(!one.same(&running));
            one.same(&running) || (one.pinned && kept == 1)
        });
    }

    /// Swaps, then notes the state of /etc. A deployment with the same /etc is not repeated. One
    /// with another /etc is replaced by a deployment with another serial.
    fn deploy(&mut self) -> Result<Outcome, Cut> {
        if !self.disk.fetched {
            return Ok(deploy_failed("deploy", "the commit is not there"));
        }
        let etc = self.disk.etc;
        if let Some(default) = self.disk.deployments.first_mut() {
            (default.pinned, default.kept) = (true, true);
        }
        self.point("before the swap")?;
        let there = self.disk.deployments.iter().find(|one| self.is_new(one));
        let new = match there.cloned() {
            Some(there) if self.disk.etc_of_new == etc => there,
            there => self.swap_in(there.map_or(0, |one| 1 - one.serial), etc),
        };
        self.point("between the swap and the note about /etc")?;
        self.disk.etc_noted = etc;
        Ok(Outcome::Done(Effect::Deployed(new)))
    }

    /// The same swap removes the former deployment of the new system.
    fn swap_in(&mut self, serial: u32, etc: u32) -> Deployment {
        let new = deployment("b", serial);
        let letter = |one: &Deployment| one.digest.as_str().starts_with('b');
        self.disk.deployments.retain(|one| !letter(one));
        self.disk.deployments.push(new.clone());
        self.disk.etc_of_new = etc;
        new
    }

    /// One rename: it happens completely or not at all.
    fn bless(&mut self) {
        let healthy = matches!(
            self.record().upgrade.map(|up| up.phase),
            Some(upgrade::Phase::Healthy { boot }) if boot == self.running.boot
        );
        if healthy && self.flaw_is_harmless() {
            self.proven
                .insert(self.running.system.digest.as_str().to_owned());
        }
        let mut running = self.running.system.clone();
        (running.pinned, running.kept) = (false, false);
        let mut others: Vec<_> = self
            .disk
            .deployments
            .iter()
            .filter(|one| !one.same(&running))
            .cloned()
            .collect();
        others
            .iter_mut()
            .for_each(|one| (one.pinned, one.kept) = (true, true));
        self.disk.deployments = [vec![running], others].concat();
    }
}

fn deploy_failed(verb: &str, detail: &str) -> Outcome {
    let (verb, detail) = (verb.to_owned(), detail.to_owned());
    Outcome::Failed(Reason::DeployFailed { verb, detail })
}

fn facts() -> ImageFacts {
    let room = Room { need: 1, free: 2 };
    let kubernetes = "v1.36.0"
        .parse()
        .unwrap_or_else(|_| unreachable!("it is a version"));
    let info = ImageInfo {
        format: 1,
        kubernetes,
        architecture: "x86_64".to_owned(),
        stage: Some(1),
        control: 0,
    };
    ImageFacts {
        commit: deployment("b", 0).digest,
        info: Some(info),
        kernel: Some("6.12".to_owned()),
        timestamp: 1,
        running: None,
        lacks: Box::default(),
        branches: Box::default(),
        running_branches: Box::default(),
        root: room,
        boot: room,
    }
}
