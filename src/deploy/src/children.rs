//! Ends children that hang while libostree waits for them. Nothing kills a run that swaps boot
//! entries. So a hanging generator of grub.cfg (grub-mkconfig's os-prober looks into every disk)
//! would block it forever, and the node's upgrade with it.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use upgrade::Reason;

/// How often to look at the children.
const LOOK: Duration = Duration::from_secs(5);
/// How long a killed child may take to be gone. If a disk hangs, it is not gone by then.
const GONE: Duration = Duration::from_secs(1);
/// How often to check for that.
const SOON: Duration = Duration::from_millis(5);

/// The children of a run, each with a time limit.
#[derive(Default)]
pub struct Children {
    /// The first that had to be ended, and after what time.
    ended: Arc<OnceLock<String>>,
}

impl Children {
    /// Ends each child, and all its descendants, that is still there after `limit`.
    pub fn bounded(limit: Duration) -> Self {
        let this = Self::default();
        let ended = Arc::clone(&this.ended);
        thread::spawn(move || {
            let mut seen = HashMap::new();
            loop {
                thread::sleep(LOOK.min(limit));
                let late = late(&mut seen, Instant::now(), limit);
                late.into_iter().for_each(|child| end(child, limit, &ended));
            }
        });
        this
    }

    /// Adds the cause that libostree cannot know, because it only sees a child that a signal ended.
    pub fn explain(&self, mut reason: Reason) -> Reason {
        if let Reason::DeployFailed { detail, .. } = &mut reason
            && let Some(ended) = self.ended.get()
        {
            detail.push_str(&format!("; {ended}"));
        }
        reason
    }
}

/// Ends all children, which the run no longer needs, and waits until they are gone, because their
/// output will be removed.
pub fn end_all() {
    let begun = Instant::now();
    loop {
        let left = children(process::id());
        if left.is_empty() || begun.elapsed() > GONE {
            return;
        }
        left.into_iter().for_each(kill_one);
        thread::sleep(SOON);
    }
}

/// The children that were first seen longer ago than `limit`.
fn late(seen: &mut HashMap<u32, Instant>, now: Instant, limit: Duration) -> Vec<u32> {
    let mut there = children(process::id());
    // While a file system is frozen, libostree keeps a copy of this process as a child that would
    // thaw it. That child must live.
    there.retain(|child| program(*child) != program(process::id()));
    seen.retain(|child, _| there.contains(child));
    there.retain(|child| now - *seen.entry(*child).or_insert(now) >= limit);
    there
}

fn end(child: u32, limit: Duration, ended: &OnceLock<String>) {
    let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
    let told = format!(
        "{} did not end within {} s and was killed",
        name.trim(),
        limit.as_secs()
    );
    eprintln!("careen-deploy: {told}");
    // Record it first: libostree continues as soon as the child is gone.
    let _ = ended.set(told);
    with_all_below(child).into_iter().for_each(kill_one);
}

fn kill_one(process: u32) {
    if let Ok(pid) = process.try_into() {
        // A child that has just ended on its own also satisfies the caller.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

fn program(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

fn with_all_below(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let mut next = 0;
    while let Some(one) = all.get(next) {
        all.extend(children(*one));
        next += 1;
    }
    all
}

/// The children of a process, as the kernel lists them for each thread
/// (`/proc/pid/task/tid/children`, proc(5)).
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let lists = threads.into_iter().flatten().flatten();
    let lists = lists.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let lists = lists.collect::<Vec<_>>().join(" ");
    lists
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}
