//! A machine of cluster `c` in namespace `ns`, and the host `h` that it may have.

use infrastructure::{
    Braked, Claim, Data, Decision, Facts, Held, Host, HostRef, Machine, Node, Owner, OwnerCluster,
    Phase, Policy, Wanted, decide,
};

pub const NOW: i64 = 10_000;
pub const ID: &str = "00000000000000aa";
pub const OTHER: &str = "00000000000000bb";
pub const IMAGE: &str = "ostree:site:os@1";

/// All facts, owned, so that a test changes what it is about.
#[derive(Clone)]
pub struct Scene {
    pub machine: Machine,
    pub cluster: Option<OwnerCluster>,
    pub host: Option<Host>,
    pub hosts: Vec<Host>,
    pub node: Node,
    pub data: Data,
    pub held: Held,
    pub image: Result<String, String>,
    pub failures: usize,
    pub leads_for: i64,
    pub brake: Option<Braked>,
    pub new_id: String,
}

/// A host that can be chosen.
pub fn host(name: &str) -> Host {
    Host {
        name: name.to_owned(),
        approved: true,
        finalizer: true,
        phase: Phase::Available,
        hostname: name.to_owned(),
        architecture: Some("amd64".to_owned()),
        image: Some(IMAGE.to_owned()),
        loader_fit: true,
        heard: NOW - 10,
        renewed: true,
        ..Host::default()
    }
}

pub fn claim(id: &str) -> Claim {
    Claim {
        id: id.to_owned(),
        machine: "m".to_owned(),
        cluster: "c".to_owned(),
        image: Some(IMAGE.to_owned()),
        version: Some("v1.36.3".to_owned()),
        provider_id: format!("careen://ns/h/{id}"),
        wanted: Wanted::Joined,
        join_seconds: 1200,
        ..Claim::default()
    }
}

pub fn named() -> HostRef {
    HostRef {
        name: "h".to_owned(),
        claim: ID.to_owned(),
        since: NOW - 100,
        committed: false,
    }
}

impl Scene {
    /// A machine that may choose, and one host that it may have.
    pub fn new() -> Self {
        Self {
            machine: Machine {
                namespace: "ns".to_owned(),
                name: "m".to_owned(),
                finalizer: true,
                owner: Some(Owner {
                    version: "v1.36.3".to_owned(),
                    has_data: true,
                    ..Owner::default()
                }),
                join_seconds: 1200,
                ..Machine::default()
            },
            cluster: Some(OwnerCluster {
                name: "c".to_owned(),
                provisioned: true,
                initialized: true,
                brake_off: false,
            }),
            host: None,
            hosts: vec![host("h")],
            node: Node::Missing { visible: 1000 },
            data: Data::Unread,
            held: Held::Nothing,
            image: Ok(IMAGE.to_owned()),
            failures: 0,
            leads_for: 1000,
            brake: None,
            new_id: ID.to_owned(),
        }
    }

    /// The machine has named its host, which has no claim yet.
    pub fn named() -> Self {
        let mut scene = Self::new();
        scene.machine.host = Some(named());
        scene.host = Some(host("h"));
        scene
    }

    /// The host has the claim.
    pub fn claimed() -> Self {
        let mut scene = Self::named();
        scene.host_mut().claim = Some(claim(ID));
        scene
    }

    /// The host has taken up the claim and is in this phase.
    pub fn at(phase: Phase) -> Self {
        let mut scene = Self::claimed();
        scene.host_mut().observed = Some(ID.to_owned());
        scene.host_mut().phase = phase;
        scene
    }

    /// The same, and the machine keeps its host.
    pub fn committed(phase: Phase) -> Self {
        let mut scene = Self::at(phase);
        scene.machine.host.as_mut().unwrap().committed = true;
        scene
    }

    /// The machine runs.
    pub fn running() -> Self {
        let mut scene = Self::committed(Phase::Joined);
        scene.host_mut().claim.as_mut().unwrap().bootstrap_hash = Some("f".to_owned());
        scene.machine.provider_id = Some(format!("careen://ns/h/{ID}"));
        scene.machine.provisioned = true;
        scene.node = Node::Ready;
        scene
    }

    /// The machine ran and is deleted.
    pub fn deleted() -> Self {
        let mut scene = Self::running();
        scene.machine.deleting = true;
        scene
    }

    /// The same, and the host was ordered to leave.
    pub fn released() -> Self {
        let mut scene = Self::deleted();
        scene.claim_mut().wanted = Wanted::Released;
        scene
    }

    pub fn host_mut(&mut self) -> &mut Host {
        self.host.as_mut().unwrap()
    }

    pub fn claim_mut(&mut self) -> &mut Claim {
        self.host_mut().claim.as_mut().unwrap()
    }

    /// The Lease was renewed so many seconds ago.
    pub fn silent(mut self, seconds: i64) -> Self {
        self.host_mut().heard = NOW - seconds;
        self
    }

    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn decide(&self) -> Decision {
        let hosts: Vec<&Host> = self.hosts.iter().collect();
        decide(&Facts {
            now: NOW,
            machine: &self.machine,
            cluster: self.cluster.as_ref(),
            host: self.host.as_ref(),
            hosts: &hosts,
            node: &self.node,
            data: &self.data,
            held: &self.held,
            image: &|_| self.image.clone(),
            failed_with: &|_| self.failures,
            leads_for: self.leads_for,
            brake: self.brake.as_ref(),
            new_id: &self.new_id,
            policy: &Policy::default(),
        })
    }

    /// The write and the code of the reason, as one word each.
    pub fn row(&self) -> (String, &'static str) {
        let decision = self.decide();
        let act = decision
            .act
            .map_or_else(|| "-".to_owned(), |act| format!("{act:?}"));
        let word = act.split(['(', '{', ' ']).next().unwrap_or_default();
        (word.to_owned(), decision.why.code())
    }
}

/// Checks rows: a name, a scene, the write and the reason.
pub fn check(rows: Vec<(&str, Scene, &str, &str)>) {
    for (name, scene, act, why) in rows {
        assert_eq!(scene.row(), (act.to_owned(), why), "{name}");
    }
}
