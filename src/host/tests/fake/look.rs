//! What the decision logic sees of the world.

use upgrade::{
    Api, Asked, Causes, Check, Finished, Health, Home, Machine, NoNetwork, NodeView, Observation,
    OneShot, SinceBoot, Turn, Unsound, Upgrade,
};

use super::{CONNECTED, Flaw, World};

impl World {
    /// The observation of one home.
    pub(super) fn look(&self, home: Home, finished: Option<Finished>) -> Observation {
        let up = self.api_is_reached();
        let asked = || self.request.clone().map_or(Asked::Nothing, Asked::This);
        Observation {
            machine: Machine {
                version: "v1.35.0".parse().ok(),
                trial: self.running.trial,
                deployments: self.disk.deployments.clone(),
                one_shot: if self.disk.one_shot.is_some() {
                    OneShot::Set
                } else {
                    OneShot::Clear
                },
                etc_stale: self.etc_is_stale(),
                integrity: (home == Home::Stage).then(|| {
                    if self.flaw == Flaw::Tampered {
                        let changed = "usr/bin/kubelet: its content has changed".to_owned();
                        return Err(Unsound::of_the_disk(changed));
                    }
                    Ok(())
                }),
                ..Machine::quiet(self.running.system.clone())
            },
            node: NodeView {
                request: if up { asked() } else { Asked::Unknown },
                api: if up {
                    Api::Reached {
                        since: self.api_since(),
                        version: "v1.36.0".parse().ok(),
                    }
                } else {
                    Api::Away
                },
                ..NodeView::default()
            },
            turn: Turn {
                started: SinceBoot(0),
                wall: 1_700_000_000 + self.elapsed / 1000,
                network: self.network(),
                finished,
                health: self.health(),
                ..Turn::quiet(home, self.running.boot.clone(), self.running.now)
            },
        }
    }

    /// Checked only where it matters, as on a real node.
    fn etc_is_stale(&self) -> bool {
        let minds = |up: &Upgrade| up.needs_a_still_etc(&self.running.system);
        self.record().upgrade.as_ref().is_some_and(minds) && self.disk.etc_noted != self.disk.etc
    }

    fn api_since(&self) -> SinceBoot {
        let ends = self.away.iter().map(|away| away.end);
        let back = ends.filter(|end| *end <= self.elapsed).max().unwrap_or(0);
        let booted = self.elapsed - self.running.now.0;
        SinceBoot(back.saturating_sub(booted).max(CONNECTED))
    }

    fn network(&self) -> Result<(), NoNetwork> {
        if self.is_new(&self.running.system) && self.flaw == Flaw::NoNetwork {
            let to = "192.0.2.1".to_owned();
            return Err(NoNetwork::Route { to });
        }
        Ok(())
    }

    fn health(&self) -> Health {
        let new = self.is_new(&self.running.system);
        let flawed = |flaw| new && self.flaw == flaw;
        let holds = |holds: bool, not: &str| {
            if holds {
                Check::Pass
            } else {
                Check::Fail(not.to_owned())
            }
        };
        let remote = |ok: bool| match (self.api_is_reached(), ok) {
            (false, _) => Check::Pending("the API server is away".to_owned()),
            (true, true) => Check::Pass,
            (true, false) => Check::Pending("not yet".to_owned()),
        };
        let user = if flawed(Flaw::UserCheck) {
            Check::Broken("exit code 1".to_owned())
        } else {
            Check::Pass
        };
        Health {
            runtime: Check::Pass,
            credential: Check::Pass,
            kubelet: holds(!flawed(Flaw::KubeletDown), "connection refused"),
            sandbox: Check::Pass,
            kubeadm: holds(self.running.kubeadm, "the API server was away"),
            ready: remote(!flawed(Flaw::NeverReady) && self.running.kubeadm),
            version: remote(self.running.kubeadm),
            pod_network: Check::Pass,
            required: vec![("10-app".to_owned(), user)],
            causes: Causes::default(),
        }
    }
}
