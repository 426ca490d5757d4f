//! What all connections of pods share: the network, and the programs that run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::carried::Carried;
use super::network::Network;
use super::session::Session;

/// The programs of the images, by image (`kube-apiserver:v1.36.3`).
pub type Programs = BTreeMap<String, PathBuf>;

/// The host's side of all pods.
#[derive(Debug)]
pub struct Shared {
    /// The files and logs of the programs.
    pub folder: PathBuf,
    /// The programs that pods may run.
    pub programs: Programs,
    /// Where they run.
    pub network: Network,
    /// The connections to their ports.
    pub carried: Carried,
    /// Nobody wants it any more.
    pub closed: AtomicBool,
    sessions: Mutex<Sessions>,
}

/// The running programs, all of one boot of the guest.
#[derive(Debug, Default)]
struct Sessions {
    boot: String,
    count: usize,
    running: Vec<Arc<Session>>,
}

impl Shared {
    /// Without a pod yet.
    pub fn new(folder: PathBuf, programs: Programs, network: Network) -> Self {
        Self {
            folder,
            programs,
            network,
            carried: Carried::default(),
            closed: AtomicBool::new(false),
            sessions: Mutex::default(),
        }
    }

    /// The number of a new program. In another boot of the guest nothing of the one before may be
    /// left, and a machine that is reset ends no connection.
    pub fn begin(&self, boot: &str) -> usize {
        let mut sessions = self.sessions();
        if sessions.boot != boot {
            boot.clone_into(&mut sessions.boot);
            sessions.running.iter().for_each(|session| session.end());
            self.carried.end();
        }
        sessions.count += 1;
        sessions.count
    }

    /// Notes a program that runs.
    pub fn add(&self, session: &Arc<Session>) {
        self.sessions().running.push(Arc::clone(session));
    }

    /// Forgets one that has ended.
    pub fn remove(&self, session: &Arc<Session>) {
        let is_other = |other: &Arc<Session>| !Arc::ptr_eq(other, session);
        self.sessions().running.retain(is_other);
    }

    /// The images whose programs run.
    pub fn running(&self) -> Vec<String> {
        let sessions = self.sessions();
        let running = sessions.running.iter();
        running.map(|session| session.image().to_owned()).collect()
    }

    /// Kills all programs.
    pub fn end(&self) {
        self.carried.end();
        let running = std::mem::take(&mut self.sessions().running);
        running.iter().for_each(|session| session.end());
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
