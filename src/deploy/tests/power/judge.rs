//! Brings a node back after a cut, asks whether all promises hold, and lets it go on.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;
use host::boot::{self, Link};
use host::critical::{CriticalFiles, Which};
use host::record::Store;
use upgrade::id::Digest;
use upgrade::step::Step;

use crate::cut::Cut;
use crate::disk::Disk;
use crate::grub::{self, Menu};
use crate::node::Node;
use crate::recording::{Recording, Told};
use crate::shelf::{Number, Shelf};
use crate::story::{self, Act, Seen};
use crate::tree;
use crate::world::World;

/// Where one worker brings nodes back.
pub struct Bench<'a> {
    pub world: &'a World,
    pub recording: &'a Recording,
    pub shelf: Shelf,
    pub scratch: PathBuf,
}

/// How a node that was not lost came back.
#[derive(Clone, Copy)]
pub struct Outcome {
    pub then: &'static str,
    pub took: Duration,
}

impl Bench<'_> {
    /// # Errors
    /// The promise that was broken.
    pub fn judge(&self, cut: &Cut, disks: [Disk; 2]) -> Result<Outcome, String> {
        let started = Instant::now();
        let numbers = disks.map(|disk| self.shelf.lend(disk, None));
        let judged = self.bring_back(cut, numbers);
        for number in numbers {
            self.shelf.take(number);
        }
        Ok(Outcome {
            then: judged?,
            took: started.elapsed(),
        })
    }

    fn bring_back(&self, cut: &Cut, numbers: [Number; 2]) -> Result<&'static str, String> {
        let told = self.recording.told_at(cut.at);
        let menu = grub::look(&self.shelf.path(numbers[1]), &self.scratch)?;
        let node = Node::start(&self.shelf, &self.world.root(), numbers)?;
        self.boots(told, &menu)?;
        self.record(told)?;
        self.order(told)?;
        let then = self.go_on(cut, told)?;
        drop(node);
        Ok(then)
    }

    /// What GRUB may choose is whole, the default has proved itself, and nothing is armed without
    /// an intent.
    fn boots(&self, told: &Told, menu: &Menu) -> Result<(), String> {
        for (at, link) in menu.entries.iter().enumerate() {
            let commit = self
                .whole(link)
                .map_err(|why| format!("entry {at}: {why}"))?;
            let good = [&told.before, &told.after].map(|seen| &seen.order[0]);
            if at == 0 && !good.contains(&&commit.to_string()) {
                return Err(format!("the default is {commit}, which nobody has blessed"));
            }
            if menu.armed == Some(at) {
                self.meant(&commit, link)?;
                self.held()?;
            }
        }
        match menu.armed {
            Some(at) if at >= menu.entries.len() => {
                Err(format!("armed is entry {at}, which is none"))
            }
            _ => Ok(()),
        }
    }

    /// A clean-up takes nothing that an armed trial falls back to.
    fn held(&self) -> Result<(), String> {
        let all = boot::default_first(&story::places(self.world));
        let all = all.map_err(|error| error.to_string())?;
        match all.first() {
            Some(default) if default.pinned => Ok(()),
            default => Err(format!("armed, and the default is not pinned: {default:?}")),
        }
    }

    /// The entry leads to a deployment of which nothing is missing.
    fn whole(&self, link: &Link) -> Result<Digest, String> {
        let followed = link.follow(&self.world.root());
        let (deployment, folder) = followed.map_err(|error| error.to_string())?;
        let commit = deployment.digest;
        let wanted = &self.recording.trees[commit.as_str()];
        let [usr, etc] = story::trees(&folder)?;
        if let Some(what) = tree::difference(&usr, &wanted.usr) {
            return Err(format!("{commit} is not whole: {what}"));
        }
        if wanted.etc.contains(&etc) {
            Ok(commit)
        } else {
            let what = wanted.etc.iter().map(|known| tree::difference(&etc, known));
            Err(format!(
                "/etc of {commit} is half merged: {:?}",
                what.collect::<Vec<_>>()
            ))
        }
    }

    /// The one-shot entry is the one that the record says, and the stage will let it through.
    fn meant(&self, commit: &Digest, link: &Link) -> Result<(), String> {
        let record = Store::new(&self.world.root()).read();
        let record = record.map_err(|reason| reason.to_string())?;
        let intent = record.upgrade.and_then(|upgrade| upgrade.intent);
        let Some(Step::Arm { deployment }) = intent else {
            return Err(format!("armed without an intent: {intent:?}"));
        };
        let followed = link.follow(&self.world.root());
        let (found, folder) = followed.map_err(|error| error.to_string())?;
        if !found.same(&deployment) {
            return Err(format!("armed is {found:?}, meant was {deployment:?}"));
        }
        let list = CriticalFiles::read(&story::places(self.world), commit);
        let list = list.map_err(|error| error.to_string())?;
        list.check(&folder, Which::Boot)?;
        list.check(&folder, Which::Rest)
    }

    fn record(&self, told: &Told) -> Result<(), String> {
        let record = Store::new(&self.world.root()).read();
        let generation = record.map_err(|reason| reason.to_string())?.generation;
        let known = [told.before.generation, told.after.generation];
        if known.contains(&generation) {
            Ok(())
        } else {
            Err(format!(
                "the record is of generation {generation}, not of {known:?}"
            ))
        }
    }

    /// The deployments are those before the step or those after it, also by libostree.
    fn order(&self, told: &Told) -> Result<(), String> {
        let output = self.world.command(&["status"]).output().unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("libostree cannot load the sysroot: {said}"));
        }
        let order = story::observe(self.world)?.order;
        if [&told.before.order, &told.after.order].contains(&&order) {
            Ok(())
        } else {
            Err(format!("the deployments are {order:?}"))
        }
    }

    /// What was begun is done again, or taken back, or all is done to the end; the disk is then
    /// what it is without a cut.
    fn go_on(&self, cut: &Cut, told: &Told) -> Result<&'static str, String> {
        let mut rng = Rng::with_seed(cut.seed);
        if let (Act::Fetch(commit) | Act::Deploy(commit), true) = (&told.act, rng.u8(..4) == 0) {
            return self.take_back(commit).map(|()| "undone");
        }
        let to_the_end = rng.u8(..25) == 0;
        let rest = &self.recording.told[told.index..];
        let last = if to_the_end { rest.len() } else { 1 };
        for told in &rest[..last] {
            told.act.perform(self.world)?;
        }
        let ended = &rest[last - 1];
        let found = story::observe(self.world)?;
        same(&found, &ended.after, |_| true)?;
        Ok(if to_the_end { "to the end" } else { "again" })
    }

    fn take_back(&self, commit: &Digest) -> Result<(), String> {
        Act::Disarm.perform(self.world)?;
        Act::Undo(commit.clone()).perform(self.world)?;
        let fetched = |told: &&Told| matches!(&told.act, Act::Fetch(of) if of == commit);
        let fetch = self.recording.told.iter().find(fetched).unwrap();
        let found = story::observe(self.world)?;
        let wanted = Seen {
            generation: found.generation,
            ..fetch.before.clone()
        };
        // What the story has done besides.
        let counts =
            |line: &str| !line.contains("ostree/careen/record") && !line.contains("etc/hosts");
        same(&found, &wanted, counts)
    }
}

pub fn same(found: &Seen, wanted: &Seen, counts: impl Fn(&str) -> bool) -> Result<(), String> {
    let facts = |seen: &Seen| (seen.order.clone(), seen.armed, seen.generation);
    if facts(found) != facts(wanted) {
        return Err(format!(
            "ends as {:?}, not as {:?}",
            facts(found),
            facts(wanted)
        ));
    }
    let lines = |seen: &Seen| -> Vec<_> {
        let lines = seen.files.iter().filter(|line| counts(line));
        lines.cloned().collect()
    };
    match tree::difference(&lines(found), &lines(wanted)) {
        None => Ok(()),
        Some(what) => Err(format!("the disk ends otherwise: {what}")),
    }
}
