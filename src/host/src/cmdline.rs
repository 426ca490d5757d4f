//! The kernel command line.

use std::fs;
use std::path::Path;

use upgrade::names;

use crate::error::{At, Result};

/// The arguments of this boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cmdline(String);

impl Cmdline {
    /// Reads the command line; `path` is /proc/cmdline on a node.
    ///
    /// # Errors
    /// The system call failed.
    pub fn read(path: &Path) -> Result<Self> {
        fs::read(path)
            .at("reading", path)
            .map(|bytes| Self::new(&String::from_utf8_lossy(&bytes)))
    }

    /// Takes the text of a /proc/cmdline.
    #[must_use]
    pub fn new(text: &str) -> Self {
        // As libostree does. The kernel treats a Unicode space like any other character, so it is
        // part of an argument.
        Self(text.trim_ascii().to_owned())
    }

    /// Whether this boot is a trial.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        self.words().any(|word| word == names::TRIAL_ARGUMENT)
    }

    /// When the deadman of the initramfs ends this trial, in seconds since boot, if the loader
    /// says.
    #[must_use]
    pub fn initramfs_seconds(&self) -> Option<u64> {
        let mut words = self.words();
        let value = words.find_map(|word| word.strip_prefix(names::INITRAMFS_ARGUMENT))?;
        value.parse().ok()
    }

    /// What the loader was told to boot: the first `ostree=`, which libostree's prepare-root
    /// enters. It does not tell which system did boot.
    #[must_use]
    pub fn ostree(&self) -> Option<&str> {
        self.words().find_map(|word| word.strip_prefix("ostree="))
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split_ascii_whitespace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_initramfs_is_a_number_or_nothing() {
        let read = |text: &str| Cmdline::new(text).initramfs_seconds();
        assert_eq!(read("ro careen.initramfs-seconds=460 quiet"), Some(460));
        assert_eq!(read("careen.initramfs-seconds=soon"), None);
        assert_eq!(read("careen.trial=1"), None);
    }

    #[test]
    fn only_the_whole_argument_makes_a_trial() {
        assert!(Cmdline::new("quiet careen.trial=1 ro\n").is_trial());
        assert!(!Cmdline::new("xcareen.trial=1 careen.trial=10 careen.trial").is_trial());
        assert!(!Cmdline::new("careen.trial=1\u{2002}").is_trial());
    }

    #[test]
    fn of_several_the_first_is_meant_as_for_libostree() {
        assert_eq!(
            Cmdline::new("ostree=/a=b x ostree=/c").ostree(),
            Some("/a=b")
        );
        assert_eq!(Cmdline::new("xostree=/a").ostree(), None);
    }
}
