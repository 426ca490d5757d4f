//! The users of a frozen node, as a lock on a file next to it. Users share the lock; a process that
//! makes or removes the node holds it exclusively.
//!
//! The kernel releases the lock when its holder dies, in any way. The file stays forever, because
//! waiting processes have it open.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result};

/// The lock of one frozen node. Dropping it releases it.
#[derive(Debug)]
pub struct Users(File);

impl Users {
    /// The lock of the node in this folder, which need not exist yet. It is not taken.
    ///
    /// # Errors
    ///
    /// Fails when its file cannot be made.
    pub fn of(node: &Path) -> Result<Self> {
        let path = node.with_extension("users");
        let file =
            File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self(file))
    }

    /// Becomes one of the users. Waits for a process that makes or removes the node.
    ///
    /// # Errors
    ///
    /// Fails when the system refuses.
    pub fn join(&self) -> Result<()> {
        Ok(self.0.lock_shared()?)
    }

    /// Releases the lock.
    ///
    /// # Errors
    ///
    /// Fails when the system refuses.
    pub fn leave(&self) -> Result<()> {
        Ok(self.0.unlock()?)
    }

    /// Waits until there is no other user, and locks out all others.
    ///
    /// # Errors
    ///
    /// Fails when the system refuses.
    pub fn wait_until_alone(&self) -> Result<()> {
        Ok(self.0.lock()?)
    }

    /// Locks out all others if there is no other user.
    ///
    /// # Errors
    ///
    /// Fails when the system refuses.
    pub fn are_none(&self) -> Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_use_a_node_at_a_time_and_nobody_removes_it_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let node = dir.path().join("node");
        let (one, other, third) = (of(&node), of(&node), of(&node));
        one.join().unwrap();
        other.join().unwrap();
        assert!(!third.are_none().unwrap());
        drop(one);
        assert!(!third.are_none().unwrap());
        other.leave().unwrap();
        assert!(third.are_none().unwrap());
    }

    #[test]
    fn whoever_makes_one_node_is_in_nobody_elses_way() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (of(&dir.path().join("one")), of(&dir.path().join("other")));
        one.wait_until_alone().unwrap();
        assert!(other.are_none().unwrap());
    }

    fn of(node: &Path) -> Users {
        Users::of(node).unwrap()
    }
}
