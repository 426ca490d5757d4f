//! A Machine that should go from v1.35.4 to v1.36.3, its Node, and how a test changes them.

use provider::engine::{
    Answer, ControlPlane, Decision, Desired, Facts, Kubelet, Machine, Mark, MarkWrite, NodeView,
    NodeWrite, Other, Others, Policy, Road, Server, Turns, Why, decide, upgrade_id,
};
use requests::{NodeFacts, StaticPod};
use upgrade::Version;
use upgrade::report::{Answer as NodeAnswer, Status};

pub const NOW: i64 = 1_000_000;
pub const NEW: &str = "v1.36.3";
pub const OLD: &str = "v1.35.4";

pub struct Scene {
    pub machine: Machine,
    pub node: Option<NodeFacts>,
    pub away: Option<&'static str>,
    pub road: Asked,
    pub wanted: Desired,
    pub paused: Option<&'static str>,
    pub control_plane: ControlPlane,
    pub working: usize,
    pub failed: usize,
    /// Another member of the control plane that is hurt.
    pub hurt: Option<Other>,
    pub allowed: usize,
    /// The version of Node `old` of Machine `m-old`.
    pub oldest_kubelet: Option<Version>,
    /// The working Machine that keeps its turn.
    pub keeper: Option<Other>,
    pub now: i64,
    /// Since when both API servers are visible.
    pub seen: i64,
    /// When the workload cluster's API server was last heard; by default now.
    pub heard: Option<i64>,
}

#[derive(Clone, Copy)]
pub enum Asked {
    No,
    Untold,
    Yes,
}

pub fn image(word: char) -> String {
    format!("ostree:site:os@{}", word.to_string().repeat(64))
}

pub fn other(machine: &str) -> Other {
    Other {
        machine: machine.into(),
        node: format!("node-of-{machine}"),
    }
}

pub fn scene() -> Scene {
    let machine = Machine {
        namespace: "t".into(),
        name: "m".into(),
        uid: "uid-m".into(),
        cluster: "c".into(),
        version: Some(NEW.into()),
        provider_id: Some("site://n".into()),
        node: Some("n".into()),
        deployment: Some("md".into()),
        in_progress: true,
        hook_pending: true,
        ..Machine::default()
    };
    let node = NodeFacts {
        name: "n".into(),
        uid: "uid-n".into(),
        resource_version: "1".into(),
        provider_id: Some("site://n".into()),
        ready: true,
        kubelet: OLD.into(),
        ..NodeFacts::default()
    };
    Scene {
        machine,
        node: Some(node),
        away: None,
        road: Asked::Yes,
        wanted: Desired {
            version: NEW.into(),
            image: Ok(image('b').parse().unwrap()),
        },
        paused: None,
        control_plane: ControlPlane {
            oldest: oldest(NEW),
            members: 3,
            pods: Vec::new(),
        },
        working: 0,
        failed: 0,
        hurt: None,
        allowed: 1,
        oldest_kubelet: None,
        keeper: None,
        now: NOW,
        seen: 0,
        heard: None,
    }
}

/// An API server of this version, on a member with a Machine.
pub fn oldest(version: &str) -> Option<Server> {
    Some(Server {
        version: version.parse().unwrap(),
        node: Some("cp-old".into()),
        machine: Some("m-cp-old".into()),
    })
}

impl Scene {
    pub fn view(&self) -> NodeView<'_> {
        match (self.away, &self.node) {
            (Some(why), _) => NodeView::Away(why),
            (None, None) => NodeView::Missing,
            (None, Some(node)) => NodeView::Seen(node),
        }
    }

    pub fn decide(&self) -> Decision {
        decide(&Facts {
            now: self.now,
            seen: self.seen,
            heard: self.heard.unwrap_or(self.now),
            machine: &self.machine,
            road: match self.road {
                Asked::No => Road::None,
                Asked::Untold => Road::Untold,
                Asked::Yes => Road::Desired(&self.wanted),
            },
            paused: self.paused,
            node: self.view(),
            control_plane: self.control_plane.clone(),
            oldest_kubelet: &|| {
                let version = self.oldest_kubelet.clone()?;
                Some(Kubelet {
                    version,
                    node: "old".into(),
                    machine: "m-old".into(),
                })
            },
            turns: Turns {
                hurt: &|| self.hurt.clone(),
                working: &|| Others {
                    count: self.working,
                    one: self.keeper.clone(),
                },
                failed: &|| Others {
                    count: self.failed,
                    one: Some(other("m-failed")),
                },
                allowed: self.allowed,
                group: "MachineDeployment md",
            },
            policy: &Policy::default(),
        })
    }

    pub fn id(&self) -> String {
        let image = self.wanted.image.as_ref().unwrap();
        upgrade_id(&self.machine, &self.wanted.version, image)
            .unwrap()
            .to_string()
    }

    pub fn node(&mut self) -> &mut NodeFacts {
        self.node.as_mut().unwrap()
    }

    /// The provider's request is on the Node, and the mark is on the Machine.
    pub fn asked(mut self) -> Self {
        let (id, image) = (self.id(), self.wanted.image.clone().unwrap().to_string());
        self.machine.mark = Some(Mark {
            id: id.clone(),
            since: NOW,
            skip_is_ours: true,
        });
        self.machine.skips_remediation = true;
        let node = self.node();
        (node.requested, node.id, node.image, node.version) =
            (true, Some(id), Some(image), Some(NEW.into()));
        self
    }

    /// The agent has answered the provider's request.
    pub fn answered(self, answer: NodeAnswer, phase: &str) -> Self {
        let id = self.id();
        self.answered_to(&id, answer, phase)
    }

    /// The agent has answered some request.
    pub fn answered_to(mut self, id: &str, answer: NodeAnswer, phase: &str) -> Self {
        let node = self.node();
        node.reply.answer = Some(answer);
        node.reply.status = Some(Status {
            id: Some(id.parse().unwrap()),
            phase: phase.into(),
            percent: 47,
            ..Status::default()
        });
        self
    }

    /// The agent answers that the request was withdrawn.
    pub fn withdrawn(self) -> Self {
        let mut this = self.answered(NodeAnswer::Failed, "Failed");
        this.node().reply.status.as_mut().unwrap().code = Some("Withdrawn".into());
        this
    }

    /// The Node no longer has a request.
    pub fn taken_back(mut self) -> Self {
        let node = self.node();
        (node.requested, node.id, node.image, node.version) = (false, None, None, None);
        self
    }

    /// The Machine after the decision is carried out.
    pub fn carry_out(&mut self, decision: &Decision) {
        match &decision.mark {
            Some(MarkWrite::On(mark)) => {
                let was_ours = self
                    .machine
                    .mark
                    .as_ref()
                    .is_some_and(|old| old.skip_is_ours);
                let skips = self.machine.skips_remediation && !was_ours;
                self.machine.skips_remediation = skips || mark.skip_is_ours;
                self.machine.mark = Some(mark.clone());
            }
            Some(MarkWrite::Off) => {
                let old = self.machine.mark.take();
                self.machine.skips_remediation &= !old.is_some_and(|old| old.skip_is_ours);
            }
            None => {}
        }
    }

    /// All conditions for "done" hold.
    pub fn upgraded(self) -> Self {
        let mut this = self.asked().answered(NodeAnswer::Upgraded, "Upgraded");
        this.node().kubelet = NEW.into();
        this
    }

    pub fn of_control_plane(mut self, version: Option<&str>) -> Self {
        self.machine.control_plane = true;
        let pod = |component: &str| StaticPod {
            component: component.into(),
            version: version.map(str::to_owned),
            ready: true,
        };
        self.control_plane.pods = [
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
        ]
        .map(pod)
        .into();
        self
    }
}

pub fn held(decision: &Decision) -> String {
    match &decision.answer {
        Answer::Held(why) => why.code(),
        other => format!("{other:?}"),
    }
}

pub fn requests(decision: &Decision) -> bool {
    matches!(decision.node, Some(NodeWrite::Request { .. }))
}

pub fn failed(decision: &Decision) -> Option<&Why> {
    match &decision.answer {
        Answer::Failed(why) => Some(why),
        _ => None,
    }
}
