//! A node that is a member of a control plane: its static pods, their manifests, kubeadm's ledger,
//! etcd, the other members, and the lock.
//!
//! - `pods`: the static pods, at a boot and after a change of their manifests; the repair.
//! - `raise`: kubeadm's steps, one part after the other.
//! - `tasks`: the other tasks of careen-control.
//! - `seen`: what the tasks answer, and what the agent sees.
//! - `fault`: what may go wrong, and how it heals.
//! - `promises` and `rest`: what must hold.

pub mod fault;
pub mod mutant;
pub mod pods;
pub mod promises;
pub mod raise;
pub mod rest;
pub mod seen;
pub mod tasks;

/// The position of etcd among the components, in kubeadm's order.
pub const ETCD: usize = 0;

/// The position of the API server.
pub const SERVER: usize = 1;

/// The number of components.
pub const COMPONENTS: usize = 4;

/// The control plane at the beginning. Images name their Kubernetes and their etcd by their letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// This node is the only member.
    Single,
    /// The first of three that is raised: `kubeadm upgrade apply`.
    First,
    /// The last of three: `kubeadm upgrade node`. With it the data of etcd is raised.
    Last,
    /// One of three that are raised already: the image alone is new.
    Raised,
    /// The first of three, and each deployment has its own /etc/kubernetes.
    Unshared,
}

/// Each shape.
pub const SHAPES: [Shape; 5] = [
    Shape::Single,
    Shape::First,
    Shape::Last,
    Shape::Raised,
    Shape::Unshared,
];

/// A whole manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// The system whose version it starts.
    pub letter: char,
    /// A person has changed it.
    pub edited: bool,
}

impl Page {
    /// As kubeadm writes it for this version.
    #[must_use]
    pub const fn of(letter: char) -> Self {
        Self {
            letter,
            edited: false,
        }
    }
}

/// What is at the place of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Live {
    /// No file.
    Missing,
    /// A file that a power cut has torn.
    Torn,
    /// A whole manifest.
    Whole(Page),
}

impl Live {
    /// The manifest, if it is whole.
    #[must_use]
    pub const fn page(self) -> Option<Page> {
        match self {
            Self::Whole(page) => Some(page),
            Self::Missing | Self::Torn => None,
        }
    }
}

/// Which /etc/kubernetes a boot has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Folder {
    /// The one of all deployments.
    Shared,
    /// That of its deployment.
    Own,
    /// None: the mount is gone, and what is below it is empty.
    Empty,
}

/// The ledger of manifests. Everything in it is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// The number of the upgrade.
    pub number: u8,
    /// The version that kubeadm raises to.
    pub to: char,
    /// kubeadm runs as `upgrade apply`, not as `upgrade node`.
    pub applies: bool,
    /// kubeadm may change etcd.
    pub etcd: bool,
    /// The raise is not over.
    pub raising: bool,
    /// The manifests from before the raise.
    pub before: [Option<Page>; COMPONENTS],
    /// What kubeadm is to write.
    pub expected: [Option<Page>; COMPONENTS],
    /// The last whole ones.
    pub last: [Option<Page>; COMPONENTS],
    /// The newest etcd of this node that has served.
    pub served: Option<char>,
}

/// Who holds the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// Nobody.
    Free,
    /// The upgrade of this node with this number.
    Ours(u8),
    /// An upgrade of another node.
    Others,
}

/// What a survey showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Looked {
    /// When.
    pub at: u16,
    /// The other members keep the quorum by themselves, or there are none.
    pub spares: bool,
    /// This node's part is well.
    pub well: bool,
}

/// The model's own memory for its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// The last survey of this boot.
    pub looked: Option<Looked>,
    /// When this boot last saw that the lock is ours.
    pub locked: Option<u16>,
    /// Somebody removed the lock, and the agent has not looked since.
    pub robbed: bool,
    /// etcd was saved in this turn.
    pub saved: bool,
    /// kubeadm or a trial has touched this node's part in this turn.
    pub touched: bool,
    /// The versions below which a manifest never goes again.
    pub floor: [char; COMPONENTS],
    /// The lock was released after this node's part was seen well.
    pub released: bool,
}

/// The control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plane {
    /// The manifests, one folder for all deployments.
    pub live: [Live; COMPONENTS],
    /// The component that kubeadm has moved and nobody has flushed, and what was there.
    pub unflushed: Option<(usize, Live)>,
    /// The ledger.
    pub ledger: Option<Ledger>,
    /// The folder of this boot.
    pub folder: Folder,
    /// The next boot has the mount.
    pub mounts: bool,
    /// The version whose data etcd has.
    pub data: char,
    /// The version of each static pod that runs; lost with the power.
    pub pods: [Option<char>; COMPONENTS],
    /// A component of this node that does not serve, whatever its manifest says.
    pub broken: Option<usize>,
    /// The version in kubeadm-config.
    pub cluster: char,
    /// The number of other members.
    pub others: u8,
    /// How many of them are away.
    pub away: u8,
    /// Their version.
    pub others_at: char,
    /// The lock.
    pub lease: Lease,
    /// What the checks remember.
    pub ghost: Ghost,
}

impl Plane {
    /// The control plane of this shape, with everything running.
    #[must_use]
    pub const fn new(shape: Shape) -> Self {
        let (own, others_at, others) = match shape {
            Shape::Single => ('a', 'a', 0),
            Shape::First | Shape::Unshared => ('a', 'a', 2),
            Shape::Last => ('a', 'b', 2),
            Shape::Raised => ('b', 'b', 2),
        };
        Self {
            live: [Live::Whole(Page::of(own)); COMPONENTS],
            unflushed: None,
            ledger: None,
            folder: match shape {
                Shape::Unshared => Folder::Own,
                Shape::Single | Shape::First | Shape::Last | Shape::Raised => Folder::Shared,
            },
            mounts: true,
            data: own,
            pods: [Some(own); COMPONENTS],
            broken: None,
            cluster: others_at,
            others,
            away: 0,
            others_at,
            lease: Lease::Free,
            ghost: Ghost {
                looked: None,
                locked: None,
                robbed: false,
                saved: false,
                touched: false,
                floor: [own; COMPONENTS],
                released: false,
            },
        }
    }

    /// Whether this component serves, as far as only this node matters.
    #[must_use]
    pub fn serves(&self, component: usize) -> bool {
        self.pods[component].is_some() && self.broken != Some(component)
    }

    /// Whether etcd has a quorum.
    #[must_use]
    pub fn has_quorum(&self) -> bool {
        let up = self.others - self.away + u8::from(self.serves(ETCD));
        up * 2 > self.others + 1
    }

    /// Whether etcd keeps its quorum without this node. A cluster of one has none to lose.
    #[must_use]
    pub const fn spares_this_node(&self) -> bool {
        self.others == 0 || (self.others - self.away) * 2 > self.others + 1
    }

    /// Whether the API server of this node serves.
    #[must_use]
    pub fn server_serves(&self) -> bool {
        self.serves(SERVER) && self.serves(ETCD) && self.has_quorum()
    }

    /// Whether an API server answers behind the address of the control plane. The kubelet's
    /// kubeconfig is in the folder that is mounted.
    #[must_use]
    pub fn api_answers(&self) -> bool {
        let others = self.others > self.away && self.has_quorum();
        self.folder != Folder::Empty && (others || self.server_serves())
    }

    /// Whether all of this node's part serves.
    #[must_use]
    pub fn is_well(&self) -> bool {
        (0..COMPONENTS).all(|component| self.serves(component)) && self.has_quorum()
    }

    /// The version of the API server that answers.
    #[must_use]
    pub fn server(&self) -> char {
        match self.pods[SERVER] {
            Some(letter) if self.server_serves() => letter,
            Some(_) | None => self.others_at,
        }
    }
}

/// Changes the control plane, if the node has one.
pub fn with(plane: &mut Option<Plane>, change: impl FnOnce(&mut Plane)) {
    if let Some(plane) = plane {
        change(plane);
    }
}
