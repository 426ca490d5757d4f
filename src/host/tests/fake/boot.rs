//! From power-on to a running userspace: loader, kernel, guard, units.

use upgrade::decide::decide;
use upgrade::step::StageStep;
use upgrade::{Deployment, Home, SinceBoot};

use super::{Cut, Flaw, Kubelet, Pen, Running, World, boot_id};
use host::snapshot;

/// The most boots of a world; more is a reboot storm.
const BOOTS: u32 = 60;

impl World {
    /// Boots until a userspace runs in which the agent can start.
    ///
    /// # Panics
    /// It never does.
    pub(super) fn power_on(&mut self) {
        loop {
            self.boots += 1;
            assert!(
                self.boots < BOOTS,
                "reboots for ever\n{}",
                self.log.join("\n")
            );
            match self.boot_once() {
                Ok(true) => return,
                Ok(false) => {}
                // Before userspace a killed agent makes no difference, so every cut is a power cut.
                Err(Cut::Power | Cut::Kill) => {}
            }
        }
    }

    /// One boot; false if it ends before userspace.
    fn boot_once(&mut self) -> Result<bool, Cut> {
        let (system, trial) = self.load()?;
        let boot = boot_id(self.boots);
        self.elapsed += 10_000;
        self.running = Running {
            boot,
            now: SinceBoot(10_000),
            system,
            trial,
            kubeadm: false,
        };
        let new = self.is_new(&self.running.system);
        self.trials += u32::from(new && trial);
        let letter = self.running.system.digest.as_str()[..1].to_owned();
        self.say(format!(
            "boot {} of {letter}{}",
            self.boots,
            if trial { " on trial" } else { "" }
        ));
        if new && self.flaw == Flaw::Panics {
            return Ok(false);
        }
        self.point("before the guard")?;
        if !self.guard()? {
            self.say("the guard goes back");
            return Ok(false);
        }
        self.point("after the guard")?;
        if new && self.flaw == Flaw::HangsInInitramfs {
            self.pass_time(180_000);
            return Ok(false);
        }
        self.units()
    }

    /// GRUB: takes the one-shot and clears it first.
    fn load(&mut self) -> Result<(Deployment, bool), Cut> {
        let chosen = self.disk.one_shot.clone();
        if !self.stuck_loader {
            self.disk.one_shot = None;
        }
        self.point("in the loader")?;
        let there = chosen.and_then(|chosen| {
            self.disk
                .deployments
                .iter()
                .position(|one| one.same(&chosen))
        });
        let position = there.unwrap_or(0);
        Ok((self.disk.deployments[position].clone(), position > 0))
    }

    /// The stage, as `careen-stage guard` runs it.
    fn guard(&mut self) -> Result<bool, Cut> {
        if !self.running.trial {
            return Ok(true);
        }
        for _ in 0..3 {
            let seen = self.look(Home::Stage, None);
            let record = Ok(self.record());
            let (_, act) =
                decide(&seen, &record, &Ok(self.policy.clone())).commit(&mut Pen(self))?;
            match act.in_the_stage() {
                Some(StageStep::Pass) => return Ok(true),
                Some(StageStep::Disarm) => self.disk.one_shot = None,
                Some(StageStep::Reboot) | None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// The units before the kubelet, and the kubelet.
    fn units(&mut self) -> Result<bool, Cut> {
        let record = self.record();
        let mut restored = self.disk.restored;
        if let (Some(up), Some(saved)) = (&record.upgrade, self.disk.snapshot)
            && snapshot::is_wanted(up, &self.running.system)
            && restored != Some(up.attempt.tries)
        {
            self.disk.kubelet = saved;
            self.say("the kubelet's state is put back");
            restored = Some(up.attempt.tries);
        }
        self.point("before the kubelet")?;
        // After a cut before the note, the restore runs once more, over files that no kubelet has
        // changed.
        self.disk.restored = restored;
        if self.is_new(&self.running.system) {
            if self.running.trial && self.api_is_up() {
                self.kubeadm();
            }
            self.disk.kubelet = Kubelet::New;
        } else {
            let readable = self.disk.kubelet == Kubelet::Old;
            assert!(
                readable,
                "the old kubelet cannot read its state\n{}",
                self.log.join("\n")
            );
        }
        self.pass_time(20_000);
        self.point("after the kubelet")?;
        Ok(true)
    }
}
