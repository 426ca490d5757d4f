//! The state: the content of the disk, the running system, the content of the cluster, and the
//! model's own memory for its checks.

use std::collections::BTreeSet;

use upgrade::Record;

use crate::cast::{Ask, System};
use crate::kept::Kept;
use crate::plane::Plane;
pub use crate::program::{Act, Do, End, Pc};

/// An earlier system that an earlier upgrade kept, the oldest of all.
pub const KEPT: System = System {
    letter: '9',
    serial: 0,
    pinned: true,
};

/// The flaw of image `b`. The other images are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Nothing.
    None,
    /// The kernel panics before any Careen program runs; `panic=10` reboots.
    Panics,
    /// The loader cannot read the kernel and continues with its fallback, the default.
    NoKernel,
    /// The initramfs hangs after the guard; its deadman reboots.
    Hangs,
    /// A critical file has changed.
    Tampered,
    /// Userspace starts without the agent; the deadman timer reboots.
    AgentDead,
    /// The kubelet never answers.
    KubeletDown,
    /// A check of `required.d` never passes.
    UserCheck,
    /// The Node never becomes Ready.
    NeverReady,
    /// It has no network.
    NoNetwork,
    /// Its pods do not run, although the Node is Ready.
    ServesLess,
    /// It is good, but the node's own files keep its container runtime from answering.
    NodesOwn,
    /// It is of another branch, and older than the running system.
    OtherBranch,
    /// No static pod of a control plane serves in it.
    MemberDown,
}

/// Every flaw that a worker can have.
pub const FLAWS: [Flaw; 13] = [
    Flaw::None,
    Flaw::Panics,
    Flaw::NoKernel,
    Flaw::Hangs,
    Flaw::Tampered,
    Flaw::AgentDead,
    Flaw::KubeletDown,
    Flaw::UserCheck,
    Flaw::NeverReady,
    Flaw::NoNetwork,
    Flaw::ServesLess,
    Flaw::NodesOwn,
    Flaw::OtherBranch,
];

/// GRUB's environment block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrubEnv {
    /// No one-shot is set.
    Clear,
    /// GRUB boots the entry at this position once.
    Set(u8),
    /// Half written: GRUB boots the default.
    Torn,
}

/// What survives a power cut.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Disk {
    /// The record, complete or absent, as `host::record` writes it.
    pub record: Kept,
    /// The entries on /boot, with the default first.
    pub menu: Vec<System>,
    /// The entries before the last swap, until the swap is flushed.
    pub unflushed: Option<Vec<System>>,
    /// What the loader finds instead at the next boot, because it replays no journal.
    pub unreplayed: Option<Vec<System>>,
    /// The deployments' folders on the root file system.
    pub folders: BTreeSet<(char, u8)>,
    /// The one-shot entry.
    pub grubenv: GrubEnv,
    /// The one-shot entry that the loader has cleared, while the drive may still lose the clearing.
    pub uncleared: Option<u8>,
    /// The commits in the repository.
    pub fetched: BTreeSet<char>,
    /// The saved state of the kubelet, identified by the system that wrote it.
    pub snapshot: Option<char>,
    /// The number of the upgrade that saved it.
    pub saved_for: u8,
    /// The note about the last restore, since the target may have run last.
    pub restored: Option<Restored>,
    /// A restore was due and failed.
    pub owed: bool,
    /// The kubelet's state, identified by the system that wrote it last.
    pub kubelet: char,
    /// The system whose `kubeadm upgrade node` last wrote the kubelet's configuration.
    pub configured: char,
    /// How often the running system's /etc has changed.
    pub etc: u8,
    /// The version of /etc that was noted at the last deployment of the new system.
    pub etc_noted: u8,
    /// The version of /etc in the new system.
    pub etc_carried: u8,
}

/// What the agent knows of the cluster since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// Just started: the agent knows nothing.
    pub fresh: bool,
    /// The last known request.
    pub asked: Option<Option<Ask>>,
    /// Whether the Node was paused at that time.
    pub paused: bool,
    /// The cordon at that time, or as the agent set it since.
    pub cordon: Option<Cordon>,
    /// The upgrade for which load balancers excluded the node at that time.
    pub excluded: Option<u8>,
    /// Whether the Node had Careen's shields at that time.
    pub shielded: bool,
    /// Since when the agent reaches the API server, and whether it knows the server's version.
    pub since: Option<(u16, bool)>,
}

impl Link {
    /// The link of an agent that has just started.
    pub const NEW: Self = Self {
        fresh: true,
        asked: None,
        paused: false,
        cordon: None,
        excluded: None,
        shielded: false,
        since: None,
    };
}

/// What a power cut loses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Running {
    /// The number of this boot.
    pub boot: u8,
    /// Seconds since the boot began.
    pub now: u16,
    /// When the agent started. It equals the start of the boot if the agent was not killed since.
    pub started: u16,
    /// The running system.
    pub system: System,
    /// Whether the trial's argument is on its command line.
    pub trial: bool,
    /// A person chose it from the menu.
    pub picked: bool,
    /// `kubeadm upgrade node` has succeeded, or was not needed.
    pub kubeadm: bool,
    /// The kubelet was killed permanently.
    pub sick: bool,
    /// A program holds an inhibitor: a polite reboot is not possible.
    pub inhibited: bool,
    /// The agent is dead and does not restart.
    pub dead: bool,
    /// A person has staged a system of their own: an orderly shutdown makes it the default.
    pub staged: bool,
    /// No time service has set the clock in this boot.
    pub unset: bool,
    /// The agent has reached the API server in this boot.
    pub reached: bool,
    /// Everything was well once in this boot, and the agent saw it.
    pub well: bool,
    /// Since when the agent saw no failure, if the operator requires that for some time.
    pub well_since: Option<u16>,
    /// What the agent knows.
    pub link: Link,
}

/// The cordon and Careen's mark, which `kubectl cordon` and `kubectl uncordon` do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cordon {
    /// The node is unschedulable.
    pub set: bool,
    /// The number of the upgrade that set the mark.
    pub mark: Option<u8>,
}

impl Cordon {
    /// Neither exists.
    pub const NONE: Self = Self {
        set: false,
        mark: None,
    };

    /// The cordon and mark that Careen sets for the upgrade of this number.
    #[must_use]
    pub const fn ours(number: u8) -> Self {
        Self {
            set: true,
            mark: Some(number),
        }
    }

    /// Whether the cordon is set with a mark.
    #[must_use]
    pub const fn is_marked(self) -> bool {
        self.set && self.mark.is_some()
    }

    /// Whether a mark exists without a cordon.
    #[must_use]
    pub const fn is_left(self) -> bool {
        !self.set && self.mark.is_some()
    }
}

/// The answer on the Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Under way.
    InProgress,
    /// The new system is proven and the default.
    Upgraded,
    /// It failed, with or without a reason.
    Failed(bool),
}

/// The answer on the Node, and its upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The answer.
    pub answer: Answer,
    /// The number of the upgrade's id.
    pub id: Option<u8>,
}

/// The content of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The API server answers.
    pub up: bool,
    /// Its version, as the letter of the newest system that it supports.
    pub server: char,
    /// The request.
    pub ask: Option<Ask>,
    /// The requester's pause.
    pub paused: bool,
    /// The cordon.
    pub cordon: Cordon,
    /// Load balancers exclude the node, for the upgrade of this number.
    pub excluded: Option<u8>,
    /// The Node has Careen's shields.
    pub shielded: bool,
    /// The API server has pods of the node.
    pub pods: bool,
    /// Containers of pods run on the node, also of those that the API server has forgotten.
    pub containers: bool,
    /// Volumes of pods are attached to the node.
    pub attached: bool,
    /// The answer.
    pub told: Option<Told>,
}

/// How many of each fault may still come. Each uses up one, so that a run has finitely many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    /// Faults of any kind.
    pub all: u8,
    /// Power cuts.
    pub cuts: u8,
    /// Actions of people and other programs.
    pub people: u8,
}

/// The restore of the kubelet's state (`snapshot::note` and `snapshot::note_armed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Restored {
    /// After the trial of this number.
    Behind(u32),
    /// In this boot, while a trial was armed.
    In(u8),
}

/// What the model knows better than the brain, for its checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Systems that have proved themselves, or for which a person vouches.
    pub proven: BTreeSet<char>,
    /// Trials of the upgrade under way that passed the guard.
    pub trials: u8,
    /// An image with a bad verdict, and the number of the request of that verdict, until a repeated
    /// request.
    pub condemned: Option<(char, u8)>,
    /// A person has booted an unproven system by hand, and must fix what its kubelet wrote.
    pub by_hand: bool,
    /// Pre-hooks began, and no post-hooks began since.
    pub hooked: bool,
    /// The old system has served since the last snapshot of the kubelet's state.
    pub served: bool,
    /// The kubelet's state was once not restored when that was due.
    pub kept_out: bool,
    /// Pods exist since a person removed the cordon, and the agent has made no decision since that
    /// knew of it.
    pub unseen: bool,
    /// When the last upgrade gave a careful operator's node back in this boot.
    pub back: Option<u16>,
    /// A person cordoned the node, and the agent could have seen that.
    pub foreign_cordon: bool,
    /// A person who uncordoned left Careen's mark, and the agent had no chance yet to remove it.
    pub unseen_mark: bool,
    /// The answer that the API server accepted and lost, until the agent gives another.
    pub lost: Option<Told>,
    /// A system that a person made the default without a proof.
    pub imposed: Option<char>,
    /// A person removed the pin of the default, and so accepted its loss.
    pub given_up: bool,
    /// Careen has decided to make the system on trial the default.
    pub blessing: bool,
    /// In this boot the brain decided to make the old system the default again.
    pub reinstates: bool,
    /// The first promise that was broken.
    pub broken: Option<&'static str>,
}

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// What is wrong with `b`.
    pub flaw: Flaw,
    /// The loader cannot clear its one-shot.
    pub stuck: bool,
    /// /boot is a separate file system, and the guard sees neither the one-shot nor a way to clear
    /// it.
    pub apart: bool,
    /// The operator has hooks, hours, a soak, and load balancers that the agent informs.
    pub careful: bool,
    /// The operator does not have a reliable API server, and blesses without one
    /// (`bless-without-api`).
    pub alone: bool,
    /// The operator's hours are closed.
    pub shut: bool,
    /// The disk.
    pub disk: Disk,
    /// The boot.
    pub running: Running,
    /// The cluster.
    pub cluster: Cluster,
    /// The control plane that the node is a member of; `None` for a worker.
    pub plane: Option<Plane>,
    /// The machine is a prepared host without a cluster.
    pub host: bool,
    /// The next position without faults.
    pub pc: Pc,
    /// The faults that may still occur.
    pub left: Left,
    /// The data for the checks.
    pub ghost: Ghost,
}

impl State {
    /// A joined node that runs `a`, with a request for `b`.
    #[must_use]
    pub fn new(flaw: Flaw, stuck: bool, left: Left) -> Self {
        let a = System::new('a', 0);
        Self {
            flaw,
            stuck,
            apart: false,
            careful: false,
            alone: false,
            shut: false,
            disk: Disk {
                record: Kept::new(Record::default()),
                menu: vec![a],
                unflushed: None,
                unreplayed: None,
                folders: BTreeSet::from([('a', 0)]),
                grubenv: GrubEnv::Clear,
                uncleared: None,
                fetched: BTreeSet::new(),
                snapshot: None,
                saved_for: 0,
                restored: None,
                owed: false,
                kubelet: 'a',
                configured: 'a',
                etc: 0,
                etc_noted: 0,
                etc_carried: 0,
            },
            running: Running {
                boot: 0,
                now: 100,
                started: 0,
                system: a,
                trial: false,
                picked: false,
                kubeadm: true,
                sick: false,
                inhibited: false,
                dead: false,
                staged: false,
                unset: false,
                reached: false,
                well: true,
                well_since: None,
                link: Link::NEW,
            },
            cluster: Cluster {
                up: true,
                server: 'c',
                ask: Some(Ask::First),
                paused: false,
                cordon: Cordon::NONE,
                excluded: None,
                shielded: false,
                pods: true,
                containers: true,
                attached: true,
                told: None,
            },
            plane: None,
            host: false,
            pc: Pc::Turn(None),
            left,
            ghost: Ghost {
                proven: BTreeSet::from(['a']),
                trials: 0,
                condemned: None,
                by_hand: false,
                hooked: false,
                served: false,
                kept_out: false,
                unseen: false,
                back: None,
                foreign_cordon: false,
                unseen_mark: false,
                lost: None,
                imposed: None,
                given_up: false,
                blessing: false,
                reinstates: false,
                broken: None,
            },
        }
    }

    /// The same state with an earlier system, which the upgrade to the running system kept as
    /// proven.
    #[must_use]
    pub fn with_kept(mut self) -> Self {
        self.disk.menu.push(KEPT);
        self.disk.folders.insert((KEPT.letter, KEPT.serial));
        self.ghost.proven.insert(KEPT.letter);
        self
    }

    /// The same state on a prepared host, which no pods use.
    #[must_use]
    pub fn on_a_host(mut self) -> Self {
        self.host = true;
        (self.cluster.pods, self.cluster.containers) = (false, false);
        self.cluster.attached = false;
        self
    }

    /// Whether the running system is the flawed image with this flaw.
    #[must_use]
    pub fn suffers(&self, flaw: Flaw) -> bool {
        self.running.system.letter == 'b' && self.flaw == flaw
    }

    /// Whether the API server answers this node.
    #[must_use]
    pub fn api_answers(&self) -> bool {
        let control_plane = self.plane.is_none_or(|plane| plane.api_answers());
        self.cluster.up && !self.suffers(Flaw::NoNetwork) && control_plane
    }

    /// The version of the API server.
    #[must_use]
    pub fn server(&self) -> char {
        self.plane
            .map_or(self.cluster.server, |plane| plane.server())
    }

    /// Whether nothing new may begin: the operator's hours are closed, or no clock shows them.
    #[must_use]
    pub const fn is_outside_the_hours(&self) -> bool {
        self.shut || self.running.unset
    }

    /// Records a broken promise. The first one counts.
    pub fn breaks(&mut self, promise: &'static str) {
        self.ghost.broken.get_or_insert(promise);
    }
}
