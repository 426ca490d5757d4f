//! Why hosts cannot be chosen, and how many for each reason.

use std::collections::BTreeMap;
use std::fmt;

/// Why a host cannot be chosen. The first reason in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unfit {
    /// The machine names another host.
    OtherName,
    /// Its labels differ.
    OtherLabels,
    /// It is in another failure domain.
    OtherDomain,
    /// A machine has it.
    Claimed,
    /// A Cluster's control plane has it reserved.
    Reserved,
    /// It failed this machine before.
    Tried,
    /// Nobody let it in.
    Unapproved,
    /// It is cordoned, or being deleted.
    Cordoned,
    /// It has not cleaned itself, or is at something else.
    NotClean,
    /// Its Lease is old.
    Silent,
    /// It has less than the minimum.
    TooSmall,
    /// A minimum or a capacity cannot be read.
    UnreadableCapacity,
    /// There is no image for its architecture.
    NoImage,
    /// It must change its image, and its boot loader cannot.
    LoaderUnfit,
    /// A host of the cluster has its host name.
    SameHostname,
}

impl Unfit {
    const fn words(self) -> &'static str {
        match self {
            Self::OtherName => "another name",
            Self::OtherLabels => "other labels",
            Self::OtherDomain => "another failure domain",
            Self::Claimed => "claimed",
            Self::Reserved => "reserved",
            Self::Tried => "tried before",
            Self::Unapproved => "not approved",
            Self::Cordoned => "cordoned",
            Self::NotClean => "not clean",
            Self::Silent => "silent",
            Self::TooSmall => "too small",
            Self::UnreadableCapacity => "an unreadable capacity",
            Self::NoImage => "no image for the architecture",
            Self::LoaderUnfit => "an unfit boot loader",
            Self::SameHostname => "the hostname of another node",
        }
    }
}

/// How many hosts there are, and how many each reason leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Refused {
    /// All hosts of the namespace.
    pub hosts: usize,
    /// The counts.
    pub counts: BTreeMap<Unfit, usize>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hosts", self.hosts)?;
        for (at, (unfit, count)) in self.counts.iter().enumerate() {
            let separator = if at == 0 { ": " } else { ", " };
            write!(f, "{separator}{count} {}", unfit.words())?;
        }
        Ok(())
    }
}
