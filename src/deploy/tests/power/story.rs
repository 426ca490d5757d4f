//! What the agent has done on a node, step by step, and how the disk looked after each.

use std::fs::{self, File};
use std::path::PathBuf;

use host::loader::{self, Aim};
use host::record::Store;
use host::{Places, boot};
use upgrade::id::Digest;
use upgrade::record::Upgrade;
use upgrade::step::Step;
use upgrade::target::RawRequest;
use upgrade::{Deployment, OneShot, Phase, Record, RecordStore};

use crate::tree;
use crate::world::{BRANCH, REMOTE, World};

/// One thing that the agent does.
#[derive(Clone, Debug)]
pub enum Act {
    Fetch(Digest),
    Deploy(Digest),
    /// Somebody changes a file in the running system's /etc.
    ChangeEtc(&'static str),
    /// The record of this generation: with a target, the intent to arm it.
    Store(u64, Option<Digest>),
    /// The same, where an agent was killed between the rename and its flush, and the next one
    /// writes what it read.
    StoreAgain(u64),
    Arm(Digest),
    Disarm,
    Bless(Digest),
    Undo(Digest),
    Clean,
}

/// How the disk looks, as far as it must be the same after a cut and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Commits of the deployments, the default first.
    pub order: Vec<String>,
    pub armed: bool,
    pub generation: u64,
    /// Every file with its size.
    pub files: Vec<String>,
}

impl Act {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fetch(_) => "fetch",
            Self::Deploy(_) => "deploy",
            Self::ChangeEtc(_) => "change /etc",
            Self::Store(..) => "store",
            Self::StoreAgain(_) => "store again",
            Self::Arm(_) => "arm",
            Self::Disarm => "disarm",
            Self::Bless(_) => "bless",
            Self::Undo(_) => "undo",
            Self::Clean => "clean",
        }
    }

    /// Does it, on the node that is mounted.
    pub fn perform(&self, world: &World) -> Result<(), String> {
        match self {
            Self::Fetch(commit) => {
                let source = ["--remote", REMOTE, "--ref", BRANCH];
                deploy(world, "fetch", &source, Some(commit))
            }
            Self::Deploy(commit) => deploy(world, "deploy", &[], Some(commit)),
            Self::Bless(commit) => deploy(world, "bless", &[], Some(commit)),
            Self::Undo(commit) => deploy(world, "undo", &[], Some(commit)),
            Self::Clean => deploy(world, "clean", &[], None),
            Self::ChangeEtc(content) => change_etc(world, content).map_err(told),
            Self::Store(generation, target) => store(world, *generation, target.as_ref()),
            Self::StoreAgain(generation) => store_again(world, *generation),
            Self::Arm(commit) => arm(world, commit),
            Self::Disarm => loader::aim(&places(world), Aim::Default).map_err(told),
        }
    }
}

/// An upgrade, one whose trial fails, and one that is made again because /etc has changed.
pub fn acts(second: &Digest, third: &Digest) -> Vec<Act> {
    let (new, bad) = (|| second.clone(), || third.clone());
    vec![
        Act::Store(1, None),
        Act::Fetch(new()),
        Act::Store(2, None),
        Act::Deploy(new()),
        Act::Store(3, None),
        Act::ChangeEtc("127.0.0.1 changed meanwhile\n"),
        Act::Deploy(new()),
        Act::StoreAgain(4),
        Act::Store(5, Some(new())),
        Act::Arm(new()),
        Act::Disarm,
        Act::Store(6, None),
        Act::Bless(new()),
        Act::Store(7, None),
        Act::Clean,
        Act::Store(8, None),
        Act::Fetch(bad()),
        Act::Deploy(bad()),
        Act::Store(9, Some(bad())),
        Act::Arm(bad()),
        Act::Disarm,
        Act::Store(10, None),
        Act::Undo(bad()),
        Act::Store(11, None),
        Act::Clean,
    ]
}

/// Looks at the node that is mounted.
pub fn observe(world: &World) -> Result<Seen, String> {
    let places = places(world);
    let order = boot::default_first(&places).map_err(told)?;
    let armed = match loader::one_shot(&places) {
        OneShot::Set => true,
        OneShot::Clear => false,
        OneShot::Unreadable => return Err("the one-shot is unreadable".to_owned()),
    };
    Ok(Seen {
        order: order.iter().map(|one| one.digest.to_string()).collect(),
        armed,
        generation: Store::new(&world.root()).read().map_err(told)?.generation,
        files: world.disk(),
    })
}

/// What a deployment's folder holds: the image, and its /etc.
pub fn trees(folder: &std::path::Path) -> Result<[Vec<String>; 2], String> {
    Ok([
        tree::lines(&folder.join("usr"))?,
        tree::lines(&folder.join("etc"))?,
    ])
}

pub fn places(world: &World) -> Places {
    Places::physical(&world.root())
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn deploy(world: &World, verb: &str, more: &[&str], commit: Option<&Digest>) -> Result<(), String> {
    let mut arguments = vec![verb];
    arguments.extend(more);
    if let Some(commit) = commit {
        arguments.extend(["--commit", commit.as_str()]);
    }
    let mut command = world.command(&arguments);
    // As on a node: deployments are immutable.
    command.env_remove("OSTREE_SYSROOT_DEBUG");
    let output = command.output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("careen-deploy {verb}: {said}"))
}

/// Whenever the power goes, the file is the old one or the new one; written in place it may be
/// found with zeros in it.
fn change_etc(world: &World, content: &str) -> std::io::Result<()> {
    let aside = world.root().join("hosts.new");
    fs::write(&aside, content)?;
    File::open(&aside)?.sync_all()?;
    fs::rename(&aside, world.etc("hosts"))?;
    Ok(nix::unistd::syncfs(File::open(world.root())?)?)
}

fn record(world: &World, generation: u64, target: Option<&Digest>) -> Result<Record, String> {
    let upgrade = target.map(|commit| intent(world, commit)).transpose()?;
    Ok(Record {
        generation,
        upgrade,
        ..Record::default()
    })
}

/// An upgrade that is about to arm.
fn intent(world: &World, commit: &Digest) -> Result<Upgrade, String> {
    let deployment = installed(world, commit)?;
    let image = format!("ostree:{REMOTE}:{BRANCH}@{commit}");
    let request = RawRequest::scheduled(&image);
    let (id, target) = ("one".parse().map_err(told)?, image.parse().map_err(told)?);
    let mut upgrade = Upgrade::new(id, request, target, deployment.clone());
    upgrade.phase = Phase::Drained;
    upgrade.intent = Some(Step::Arm { deployment });
    Ok(upgrade)
}

fn installed(world: &World, commit: &Digest) -> Result<Deployment, String> {
    let all = boot::default_first(&places(world)).map_err(told)?;
    let found = all.into_iter().find(|one| one.digest == *commit);
    found.ok_or_else(|| format!("{commit} is not deployed"))
}

fn store(world: &World, generation: u64, target: Option<&Digest>) -> Result<(), String> {
    let record = record(world, generation, target)?;
    Store::new(&world.root()).store(&record).map_err(told)
}

/// The killed agent's part is done on a copy of the folder, so that no flush comes with it.
fn store_again(world: &World, generation: u64) -> Result<(), String> {
    let (folder, aside) = (places(world).state(), tempfile::tempdir().map_err(told)?);
    let copies = ["record.a", "record.b"];
    fs::create_dir_all(aside.path().join("ostree/careen")).map_err(told)?;
    let beside = |name: &str| aside.path().join("ostree/careen").join(name);
    for name in copies {
        fs::copy(folder.join(name), beside(name)).map_err(told)?;
    }
    let record = record(world, generation, None)?;
    Store::new(aside.path()).store(&record).map_err(told)?;
    for name in copies {
        let content = fs::read(beside(name)).map_err(told)?;
        if fs::read(folder.join(name)).map_err(told)? != content {
            rename_over(folder.join(name), &content).map_err(told)?;
        }
    }
    Store::new(&world.root()).store(&record).map_err(told)
}

/// As `host::durable`, up to where the agent was killed.
fn rename_over(path: PathBuf, content: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, content)?;
    File::open(&new)?.sync_all()?;
    fs::rename(new, path)
}

fn arm(world: &World, commit: &Digest) -> Result<(), String> {
    let deployment = installed(world, commit)?;
    loader::aim(&places(world), Aim::Trial(&deployment)).map_err(told)
}
