//! A small world for tests of the decision logic: one node with a disk, a boot loader, a cluster
//! around it, and a power switch.
//!
//! It fails as the real one does: the power may fail between any two writes, the agent may die
//! between any two acts, and what is half done stays half done. It tracks on its own what must
//! never happen, and fails the test if it does.

#![allow(dead_code)]

mod act;
mod boot;
mod given;
mod life;
mod look;

use std::collections::BTreeSet;
use std::ops::Range;

use upgrade::{BootId, Deployment, RawRequest, Record, RecordStore, SinceBoot};

/// What is wrong with the new system, or with the world around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// The kernel panics before anything of ours runs.
    Panics,
    /// The initramfs hangs at the guard; its deadman ends it.
    HangsInInitramfs,
    /// A critical file has changed.
    Tampered,
    /// Userspace starts without the agent; the deadman timer ends it.
    AgentDead,
    /// It has neither the agent nor the deadman timer, or does not start them.
    Unattended,
    /// The kubelet never answers.
    KubeletDown,
    /// A check in `required.d` will never pass.
    UserCheck,
    /// The Node never becomes Ready.
    NeverReady,
    /// The new system has no network; the old one does.
    NoNetwork,
}

/// How the world is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The power fails: the boot is over.
    Power,
    /// The agent is killed: the boot continues, and the agent restarts.
    Kill,
}

/// The system that wrote the kubelet's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kubelet {
    /// The old one.
    Old,
    /// The new one, whose state the old kubelet cannot read.
    New,
}

/// What survives a power cut.
#[derive(Clone, Debug)]
struct Disk {
    record: Option<Vec<u8>>,
    deployments: Vec<Deployment>,
    /// What GRUB would boot once.
    one_shot: Option<Deployment>,
    fetched: bool,
    snapshot: Option<Kubelet>,
    /// The trial after which it was restored.
    restored: Option<u32>,
    kubelet: Kubelet,
    /// How often the old system's /etc was changed.
    etc: u32,
    /// Its state in the note of the new system's last deployment.
    etc_noted: u32,
    /// Its state as the new system has it.
    etc_of_new: u32,
    /// kubeadm has written the new kubelet's configuration.
    configured: bool,
}

/// What a power cut destroys.
#[derive(Clone, Debug)]
struct Running {
    boot: BootId,
    now: SinceBoot,
    system: Deployment,
    trial: bool,
    kubeadm: bool,
}

/// When the agent reaches the API server in a boot at the earliest, a moment after its start, in
/// milliseconds.
const CONNECTED: u64 = 31_000;

/// The world.
#[derive(Clone, Debug)]
pub struct World {
    disk: Disk,
    running: Running,
    flaw: Flaw,
    /// The loader cannot clear its one-shot: LVM, or a file system that GRUB does not write.
    stuck_loader: bool,
    request: Option<RawRequest>,
    cordoned: bool,
    /// When the API server is unreachable, in milliseconds since the world began.
    away: Vec<Range<u64>>,
    elapsed: u64,
    /// The points at which the world is interrupted.
    cuts: Vec<(u32, Cut)>,
    /// The point at which the request is withdrawn.
    withdrawal: Option<u32>,
    /// The points, counted over the whole life, at each of which the old system's /etc changes.
    etc_changes: Range<u32>,
    /// How many more reboots are refused.
    refusals: u32,
    /// careen-deploy fails in the blessing after its swap, while it cleans up.
    fails_behind_bless: bool,
    points: u32,
    boots: u32,
    trials: u32,
    proven: BTreeSet<String>,
    policy: upgrade::Policy,
    log: Vec<String>,
    written: Vec<Record>,
}

/// The policy's defaults, under which one pass of all checks is a verdict.
pub fn at_once() -> upgrade::Policy {
    let mut policy = upgrade::Policy::default();
    policy.health.steady_seconds = 0;
    policy
}

/// The old system and the requested one.
fn deployment(letter: &str, serial: u32) -> Deployment {
    // Sixty-four equal digits always parse.
    let digest = letter.repeat(64).parse();
    let digest = digest.unwrap_or_else(|_| unreachable!("{letter} is a hexadecimal digit"));
    Deployment {
        digest,
        serial,
        stateroot: "os".to_owned(),
        bootcsum: letter.repeat(64),
        pinned: false,
        kept: false,
    }
}

impl World {
    /// A joined node that runs the old system, and a request for the new one.
    #[must_use]
    pub fn new(flaw: Flaw) -> Self {
        let old = deployment("a", 0);
        let request = RawRequest {
            id: Some("one".to_owned()),
            ..RawRequest::scheduled("ostree:careen:os/new")
        };
        Self {
            disk: Disk {
                record: None,
                deployments: vec![old.clone()],
                one_shot: None,
                fetched: false,
                snapshot: None,
                restored: None,
                kubelet: Kubelet::Old,
                etc: 0,
                etc_noted: 0,
                etc_of_new: 0,
                configured: false,
            },
            running: Running {
                boot: boot_id(0),
                now: SinceBoot(60_000),
                system: old,
                trial: false,
                kubeadm: false,
            },
            flaw,
            stuck_loader: false,
            request: Some(request),
            cordoned: false,
            away: Vec::new(),
            elapsed: 60_000,
            cuts: Vec::new(),
            withdrawal: None,
            etc_changes: 0..0,
            refusals: 0,
            fails_behind_bless: false,
            points: 0,
            boots: 0,
            trials: 0,
            proven: BTreeSet::from(["a".repeat(64)]),
            policy: at_once(),
            log: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Everything that happened, one entry per line.
    #[must_use]
    pub fn log(&self) -> &[String] {
        &self.log
    }

    /// Every record that reached the disk, in order.
    #[must_use]
    pub fn written(&self) -> &[Record] {
        &self.written
    }

    /// How many points there were for an interruption.
    #[must_use]
    pub const fn points(&self) -> u32 {
        self.points
    }

    /// How often the new system booted.
    #[must_use]
    pub const fn trials(&self) -> u32 {
        self.trials
    }

    /// Whether the new system has the old system's /etc.
    #[must_use]
    pub const fn etc_is_carried_over(&self) -> bool {
        self.disk.etc_of_new == self.disk.etc
    }

    /// Whether `kubeadm upgrade node` has written the new kubelet's configuration.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        self.disk.configured
    }

    /// The record on the disk.
    #[must_use]
    pub fn record(&self) -> Record {
        let read = self.disk.record.as_deref().map(serde_json::from_slice);
        read.transpose().ok().flatten().unwrap_or_default()
    }

    fn is_new(&self, deployment: &Deployment) -> bool {
        deployment.digest.as_str().starts_with('b')
    }

    fn api_is_up(&self) -> bool {
        let cut_off = self.flaw == Flaw::NoNetwork && self.is_new(&self.running.system);
        let is_away = |away: &Range<u64>| away.contains(&self.elapsed);
        !cut_off && !self.away.iter().any(is_away)
    }

    /// Whether the agent knows that the API server is up.
    fn api_is_reached(&self) -> bool {
        self.api_is_up() && self.running.now.0 >= CONNECTED
    }

    fn pass_time(&mut self, ms: u64) {
        self.running.now.0 += ms;
        self.elapsed += ms;
    }

    fn say(&mut self, text: impl Into<String>) {
        self.log.push(text.into());
    }

    /// A point at which the world may be interrupted.
    fn point(&mut self, what: &str) -> Result<(), Cut> {
        self.points += 1;
        self.check(what);
        if self.withdrawal == Some(self.points) {
            self.request = None;
            self.say(format!("withdrawn {what}"));
        }
        if self.etc_changes.contains(&self.points) {
            self.disk.etc += 1;
            self.say(format!("/etc changes {what}"));
        }
        let due = self.cuts.iter().position(|(at, _)| *at == self.points);
        match due.map(|at| self.cuts.remove(at).1) {
            Some(cut) => {
                self.say(format!("{cut:?} cut {what}"));
                Err(cut)
            }
            None => Ok(()),
        }
    }

    /// Checks the invariants, whatever interrupts the world.
    ///
    /// # Panics
    /// An invariant is violated.
    #[expect(clippy::panic, reason = "a test's verdict")]
    fn check(&self, what: &str) {
        let broken = |rule: &str| panic!("{rule}, {what}\n{}", self.log.join("\n"));
        let Some(default) = self.disk.deployments.first() else {
            broken("no deployment is left")
        };
        if !self.proven.contains(default.digest.as_str()) {
            broken("the default has not proved itself");
        }
        if !self
            .disk
            .deployments
            .iter()
            .any(|one| one.same(&self.running.system))
        {
            broken("the running system is gone from the disk");
        }
    }
}

fn boot_id(number: u32) -> BootId {
    let id = format!("{number:08x}").parse();
    id.unwrap_or_else(|_| unreachable!("hexadecimal digits are an id"))
}

/// The world's record, written completely or not at all, as the real one is.
struct Pen<'a>(&'a mut World);

impl RecordStore for Pen<'_> {
    type Error = Cut;

    fn store(&mut self, record: &Record) -> Result<(), Cut> {
        let before = self.0.record().generation;
        assert!(
            record.generation > before,
            "generation {} after {before}",
            record.generation
        );
        self.0.point("before the record is written")?;
        self.0.disk.record = serde_json::to_vec(record).ok();
        self.0.written.push(record.clone());
        let phase = record.upgrade.as_ref().map_or("none", |up| up.phase.name());
        self.0.say(format!("record {}: {phase}", record.generation));
        self.0.point("after the record is written")
    }
}
