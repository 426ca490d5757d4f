//! What careen-host does on a machine apart from its files.

use std::path::{Path, PathBuf};

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// It ended with exit status 0.
    pub well: bool,
    /// The end of its output.
    pub tail: String,
}

impl Ended {
    /// A program that did not run, or not to its end.
    #[must_use]
    pub fn failed(why: &dyn std::fmt::Display) -> Self {
        Self {
            well: false,
            tail: why.to_string(),
        }
    }
}

/// The machine. Each act can be repeated.
pub trait Machine {
    /// Runs a script of the bootstrap data to its end.
    fn run(&mut self, script: &Path) -> Ended;
    /// Ends the run of the bootstrap data, with all that it has started.
    fn end_join(&mut self);
    /// Stops the kubelet.
    fn stop_kubelet(&mut self);
    /// Kills all processes of pods.
    fn kill_pods(&mut self);
    /// Takes a mount away.
    fn unmount(&mut self, path: &Path);
    /// Runs `kubeadm reset` without the removal of etcd's member, within its time limit.
    fn reset(&mut self) -> Ended;
    /// What runs and could bring the old kubelet back: the kubelet, pods, its port, the join.
    fn alive(&self) -> Vec<String>;
    /// The mount points.
    fn mounts(&self) -> Vec<PathBuf>;
    /// The network links.
    fn links(&self) -> Vec<String>;
}
