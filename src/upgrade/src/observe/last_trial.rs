//! What the old system finds of a trial that has ended without a verdict.

use serde::{Deserialize, Serialize};

use crate::id::BootId;

/// What is left of the last trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastTrial {
    /// The last note of the agent in that trial, if it wrote one.
    pub noted: Option<TrialNote>,
    /// What ended it, if something shows that.
    pub end: Option<TrialEnd>,
    /// The file that shows that, if one does.
    pub shown_by: Option<String>,
    /// The last errors in its journal, for a person. Empty without a journal that outlives a boot.
    pub errors: Vec<String>,
}

/// How far a trial has come. The agent writes it in the trial, again and again, in a file of its
/// own: it decides nothing in that boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialNote {
    /// The boot of the trial.
    pub boot: BootId,
    /// Seconds since that boot.
    pub seconds: u64,
    /// The first check that did not pass then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
}

/// What ended a trial, where something other than the record shows it. A reset from outside and a
/// power cut leave none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialEnd {
    /// The kernel panicked: pstore has its last words, or kdump its dump.
    Panic,
    /// The kernel panicked, and says that it did so for something outside of the image: hardware, a
    /// disk, a person, or a processor that did not run.
    OutsidePanic,
    /// The hardware watchdog that systemd feeds reset the machine.
    Watchdog,
    /// Another hardware watchdog reset the machine, which a program of the node feeds. Such a
    /// program may reset the machine on purpose, as a node-health operator does.
    OtherWatchdog,
    /// The deadman ended it: the agent did not come to a verdict in its time.
    Deadman,
    /// The deadman ended it, and the agent noted nothing in it: the boot did not get as far as the
    /// agent, or the disk took no note.
    Unstarted,
    /// Something that this version does not know.
    #[serde(other)]
    Unheard,
}

impl TrialEnd {
    /// Whether this version knows what ended the trial.
    pub(crate) const fn is_known(self) -> bool {
        match self {
            Self::Panic
            | Self::OutsidePanic
            | Self::Watchdog
            | Self::OtherWatchdog
            | Self::Deadman
            | Self::Unstarted => true,
            Self::Unheard => false,
        }
    }

    /// Whether it shows that the image hung or crashed. A boot that does not reach the agent may
    /// wait for anything of the node: the agent starts after the kubelet, and the kubelet after
    /// what the node's drop-ins name.
    pub(crate) const fn blames_image(self) -> bool {
        match self {
            Self::Panic | Self::Watchdog | Self::Deadman => true,
            Self::OutsidePanic | Self::OtherWatchdog | Self::Unstarted | Self::Unheard => false,
        }
    }

    /// As part of a sentence.
    pub(crate) const fn shown(self) -> &'static str {
        match self {
            Self::Panic => "its kernel panicked",
            Self::OutsidePanic => "its kernel panicked for something outside of the image",
            Self::Watchdog => "the hardware watchdog reset the machine",
            Self::OtherWatchdog => {
                "a watchdog reset the machine that a program of this node feeds and not systemd, and the image is not blamed"
            }
            Self::Deadman => "the deadman ended it, because its agent reached no verdict",
            Self::Unstarted => {
                "the deadman ended it before its agent was at work, which anything that this node starts before the kubelet may cause, and the image is not blamed"
            }
            Self::Unheard => "what ended it is not known to this version",
        }
    }
}
