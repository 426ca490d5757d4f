//! The state: what the disk holds, what runs, what the cluster shows, and what the model itself remembers to judge by.

use std::collections::BTreeSet;

use upgrade::Record;

use crate::cast::{Ask, System};
use crate::kept::Kept;
pub use crate::program::{Act, Do, End, Pc};

/// A former system that an earlier upgrade has kept, older than all others.
pub const KEPT: System = System {
    letter: '9',
    serial: 0,
    pinned: true,
};

/// What is wrong with image `b`; the others are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Nothing.
    None,
    /// The kernel panics before anything of ours runs; `panic=10` reboots.
    Panics,
    /// The loader cannot read the kernel and goes on to its fallback, the default.
    NoKernel,
    /// The initramfs hangs behind the guard; its deadman reboots.
    Hangs,
    /// A critical file is not what it was.
    Tampered,
    /// Userspace comes up without the agent; the deadman timer reboots.
    AgentDead,
    /// The kubelet never answers.
    KubeletDown,
    /// A check of `required.d` is not going to pass.
    UserCheck,
    /// The Node never becomes Ready.
    NeverReady,
    /// It has no network.
    NoNetwork,
}

/// Every flaw.
pub const FLAWS: [Flaw; 10] = [
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
];

/// GRUB's environment block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrubEnv {
    /// No one-shot is set.
    Clear,
    /// The entry at this position is booted once.
    Set(u8),
    /// Half written: GRUB boots the default.
    Torn,
}

/// What a power cut leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Disk {
    /// The record; whole or not at all, as `host::journal` makes it.
    pub record: Kept,
    /// The entries on /boot, the default first.
    pub menu: Vec<System>,
    /// The entries before the last swap, as long as that has not been flushed.
    pub unflushed: Option<Vec<System>>,
    /// What the loader finds instead at the next boot, for it replays no journal.
    pub unreplayed: Option<Vec<System>>,
    /// The deployments' folders on the root file system.
    pub folders: BTreeSet<(char, u8)>,
    /// The one-shot entry.
    pub grubenv: GrubEnv,
    /// The one-shot entry that the loader has cleared, as long as the drive may lose that.
    pub uncleared: Option<u8>,
    /// The commits in the repository.
    pub fetched: BTreeSet<char>,
    /// The saved state of the kubelet, by the system that wrote it.
    pub snapshot: Option<char>,
    /// The number of the upgrade that saved it.
    pub saved_for: u8,
    /// What was noted when it was put back, since the target may have run last.
    pub restored: Option<Restored>,
    /// It was to be put back, and that failed.
    pub owed: bool,
    /// The kubelet's state, by the system that wrote it last.
    pub kubelet: char,
    /// The system whose `kubeadm upgrade node` has written the kubelet's configuration last.
    pub configured: char,
    /// How often somebody has changed the running system's /etc.
    pub etc: u8,
    /// How it was noted to be when the new system was deployed last.
    pub etc_noted: u8,
    /// What the new system has of it.
    pub etc_carried: u8,
}

/// What the agent knows of the cluster in this life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// Just started: nothing is known.
    pub fresh: bool,
    /// What was asked for when it was last heard.
    pub asked: Option<Option<Ask>>,
    /// Whether the Node was paused then.
    pub paused: bool,
    /// The cordon as it was then, or as it was set since.
    pub cordon: Option<Cordon>,
    /// For which upgrade load balancers left the node out then.
    pub excluded: Option<u8>,
    /// Since when the API server is reached, and whether its version is known.
    pub since: Option<(u16, bool)>,
}

impl Link {
    /// That of an agent that has just started.
    pub const NEW: Self = Self {
        fresh: true,
        asked: None,
        paused: false,
        cordon: None,
        excluded: None,
        since: None,
    };
}

/// What a power cut takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Running {
    /// Which boot this is.
    pub boot: u8,
    /// Seconds since it began.
    pub now: u16,
    /// When the agent was started; in the second in which the boot began, where nobody has killed it since.
    pub started: u16,
    /// The system.
    pub system: System,
    /// The trial's argument is on its command line.
    pub trial: bool,
    /// A person chose it from the menu.
    pub picked: bool,
    /// `kubeadm upgrade node` has succeeded, or was not needed.
    pub kubeadm: bool,
    /// Somebody killed the kubelet for good.
    pub sick: bool,
    /// Somebody holds an inhibitor: whoever asks politely gets no reboot.
    pub inhibited: bool,
    /// The agent is dead and does not come back.
    pub dead: bool,
    /// Somebody has staged a system of their own: an orderly way down makes it the default.
    pub staged: bool,
    /// In this boot the agent has heard the API server.
    pub reached: bool,
    /// In this boot everything was well once, and was shown.
    pub well: bool,
    /// Since when nothing was shown that is not, where the operator wants that to last.
    pub well_since: Option<u16>,
    /// What the agent knows.
    pub link: Link,
}

/// The cordon and our mark, which `kubectl cordon` and `kubectl uncordon` know nothing of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cordon {
    /// No pods are scheduled to the node.
    pub set: bool,
    /// The number of the upgrade whose mark is there.
    pub mark: Option<u8>,
}

impl Cordon {
    /// Neither is there.
    pub const NONE: Self = Self {
        set: false,
        mark: None,
    };

    /// As Careen sets it for the upgrade of this number.
    #[must_use]
    pub const fn ours(number: u8) -> Self {
        Self {
            set: true,
            mark: Some(number),
        }
    }

    /// Whether it is set under a mark.
    #[must_use]
    pub const fn is_marked(self) -> bool {
        self.set && self.mark.is_some()
    }

    /// Whether a mark is there that marks nothing.
    #[must_use]
    pub const fn is_left(self) -> bool {
        !self.set && self.mark.is_some()
    }
}

/// What the Node says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Under way.
    InProgress,
    /// The new system is proven and the default.
    Upgraded,
    /// It failed, with or without a reason.
    Failed(bool),
}

/// The answer on the Node, and the upgrade that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The answer.
    pub answer: Answer,
    /// The number of the upgrade's id.
    pub id: Option<u8>,
}

/// What the cluster holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The API server answers.
    pub up: bool,
    /// Its version, as the letter of the newest system that may talk to it.
    pub server: char,
    /// The request.
    pub ask: Option<Ask>,
    /// The requester's pause.
    pub paused: bool,
    /// The cordon.
    pub cordon: Cordon,
    /// Load balancers leave the node out, for the upgrade of this number.
    pub excluded: Option<u8>,
    /// Pods run on the node.
    pub pods: bool,
    /// The answer.
    pub told: Option<Told>,
}

/// How many of each misfortune may still come. Each happens at a price, so that a run has finitely many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    /// Of any kind.
    pub all: u8,
    /// Power cuts.
    pub cuts: u8,
    /// Of people and other programs.
    pub people: u8,
}

/// That the kubelet's state was put back (`snapshot::note` and `snapshot::note_armed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Restored {
    /// Behind the trial of this number.
    Behind(u32),
    /// In this boot, while a trial was armed.
    In(u8),
}

/// What the model knows better than the brain, and judges by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Systems that have proved themselves, or that a person vouches for.
    pub proven: BTreeSet<char>,
    /// Trials of the upgrade under way that came past the guard.
    pub trials: u8,
    /// An image with a bad verdict, and the request's number it was given for; until somebody asks again.
    pub condemned: Option<(char, u8)>,
    /// A person has booted an unproven system by hand: what its kubelet wrote is theirs to mend.
    pub by_hand: bool,
    /// Pre-hooks were begun, and no post-hooks since.
    pub hooked: bool,
    /// The old system has served since the kubelet's state was saved last.
    pub served: bool,
    /// The kubelet's state was once not put back when that was due.
    pub kept_out: bool,
    /// Pods are there since somebody took the cordon off, and the agent has decided nothing yet that knew of it.
    pub unseen: bool,
    /// Who has cordoned the node is a person, and the agent could have seen that.
    pub foreign_cordon: bool,
    /// Our mark was left by a person who uncordoned, and the agent had no chance yet to take it off.
    pub unseen_mark: bool,
    /// The answer that the API server has accepted and lost, until another is given.
    pub lost: Option<Told>,
    /// A system that a person made the default though it was never proven.
    pub imposed: Option<char>,
    /// A person has taken the pin off the default, and by that has said that it may go.
    pub given_up: bool,
    /// Careen has decided to make the system on trial the default.
    pub blessing: bool,
    /// In this boot it was decided to make the old system the default again.
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
    /// /boot is a file system of its own, and the guard sees nothing of it: neither the one-shot nor a way to clear it.
    pub apart: bool,
    /// The operator has hooks, hours, a soak, and load balancers that are told.
    pub careful: bool,
    /// The operator has no steady API server, and blesses without one (`bless-without-api`).
    pub alone: bool,
    /// It is none of the operator's hours.
    pub shut: bool,
    /// The disk.
    pub disk: Disk,
    /// The boot.
    pub running: Running,
    /// The cluster.
    pub cluster: Cluster,
    /// What happens next when nothing breaks in.
    pub pc: Pc,
    /// What may still break in.
    pub left: Left,
    /// What is judged by.
    pub ghost: Ghost,
}

impl State {
    /// A joined node that runs `a`, and a request for `b`.
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
                pods: true,
                told: None,
            },
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

    /// The same with a former system behind it, kept as proven by the upgrade that brought the one that runs.
    #[must_use]
    pub fn with_kept(mut self) -> Self {
        self.disk.menu.push(KEPT);
        self.disk.folders.insert((KEPT.letter, KEPT.serial));
        self.ghost.proven.insert(KEPT.letter);
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
        self.cluster.up && !self.suffers(Flaw::NoNetwork)
    }

    /// Notes a broken promise; the first counts.
    pub fn breaks(&mut self, promise: &'static str) {
        self.ghost.broken.get_or_insert(promise);
    }
}
