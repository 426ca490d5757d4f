//! The systems on the machine's disk, and the operations on them.

use upgrade::{Deployment, Digest};

use super::state::State;

impl State {
    /// Writes a deployment at the end, as `careen-deploy deploy` does, and replaces an earlier
    /// deployment of the same commit. The kept deployments stay, and the new one gets another
    /// serial.
    pub(super) fn deploy(&mut self, commit: &Digest) -> Deployment {
        let booted = self.booted.clone();
        let stays = |one: &Deployment| one.digest != *commit || one.pinned || one.same(&booted);
        self.deployments.retain(stays);
        if let Some(default) = self.deployments.first_mut() {
            (default.pinned, default.kept) = (true, true);
        }
        let there = self.deployments.iter().any(|one| one.digest == *commit);
        let made = Deployment {
            serial: u32::from(there),
            ..deployment(&commit.as_str()[..1])
        };
        self.deployments.push(made.clone());
        made
    }

    /// Makes the tried deployment the first, and keeps only the one that was first before.
    pub(super) fn bless(&mut self, commit: &Digest) {
        let new = self.deployments.iter().rfind(|one| one.digest == *commit);
        let new = new.cloned();
        let old = self.deployments.first().cloned();
        let old = old.map(|old| Deployment {
            pinned: true,
            kept: true,
            ..old
        });
        self.deployments = new.into_iter().chain(old).collect();
    }

    pub(super) fn undo(&mut self) {
        let first = self.deployments.first().cloned();
        let stays = |one: &Deployment| one.pinned || Some(one) == first.as_ref();
        self.deployments.retain(stays);
        if let Some(default) = self.deployments.first_mut() {
            (default.pinned, default.kept) = (false, false);
        }
    }
}

pub(super) fn digest(letter: &str) -> Digest {
    // A constant in the correct format.
    letter
        .repeat(64)
        .parse()
        .unwrap_or_else(|_| unreachable!("64 hexadecimal digits"))
}

pub(super) fn deployment(letter: &str) -> Deployment {
    let bootcsum = letter.repeat(64);
    Deployment {
        digest: digest(letter),
        serial: 0,
        stateroot: "careen".to_owned(),
        bootcsum,
        pinned: false,
        kept: false,
    }
}
