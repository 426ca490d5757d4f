//! The tasks of careen-control that are part of an upgrade, and what each of them brings.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::leadership::Yielding;
use super::lock::{Locking, Unlocking};
use super::raise::{Ended, GivingUp};
use super::snapshot::{Refusal, Saved, Saving};
use super::survey::Survey;
use super::text::Name;
use crate::reason::{Reason, complaint};
use crate::version::Version;

/// One task, performed by one run of careen-control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Task {
    /// Look at the control plane.
    Survey,
    /// Take the lock of the control plane, or check that this upgrade holds it.
    Lock,
    /// Save etcd on this node.
    SaveEtcd,
    /// Raise the control plane of this node to the image's version.
    Raise,
    /// Leave the manifests of a raise that did not end well as they are.
    GiveUp,
    /// Let another member lead etcd.
    Yield,
    /// Release the lock.
    Unlock,
}

/// What a task has brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// What the look has found.
    Surveyed(Box<Survey>),
    /// This upgrade holds the lock.
    Locked,
    /// Another upgrade holds it.
    Busy {
        /// Which one.
        holder: Name,
    },
    /// etcd is saved. `None` if etcd is not on this node.
    SavedEtcd(Option<Saved>),
    /// The control plane of this node is at this version and serves.
    Raised(Version),
    /// No kubeadm of the raise runs, and no repair changes the manifests any more.
    GivenUp,
    /// etcd was asked to let another member lead. Whether one does decides nothing.
    Yielded,
    /// This upgrade does not hold the lock.
    Unlocked,
}

/// What `careen-control survey --json` prints, as far as an upgrade reads it. The findings follow
/// from the survey.
#[derive(Deserialize)]
struct Printed {
    survey: Survey,
}

impl Task {
    /// All tasks.
    pub const ALL: [Self; 7] = [
        Self::Survey,
        Self::Lock,
        Self::SaveEtcd,
        Self::Raise,
        Self::GiveUp,
        Self::Yield,
        Self::Unlock,
    ];

    /// The name of the step, for display.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Survey => "Survey",
            Self::Lock => "Lock",
            Self::SaveEtcd => "SaveEtcd",
            Self::Raise => "Raise",
            Self::GiveUp => "GiveUpRaise",
            Self::Yield => "Yield",
            Self::Unlock => "Unlock",
        }
    }

    /// The verb of careen-control.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Lock => "lock",
            Self::SaveEtcd => "save",
            Self::Raise => "raise",
            Self::GiveUp => "give-up",
            Self::Yield => "yield",
            Self::Unlock => "unlock",
        }
    }

    /// Reads what careen-control has printed for this task.
    ///
    /// # Errors
    /// The task was not performed, or the text is no answer to it.
    pub fn read(self, printed: &str) -> Result<Done, Reason> {
        match self {
            Self::Survey => {
                let Printed { survey } = self.parsed(printed)?;
                Ok(Done::Surveyed(Box::new(survey)))
            }
            Self::Lock => match self.parsed(printed)? {
                Locking::Locked { .. } => Ok(Done::Locked),
                Locking::Busy { holder, .. } => Ok(Done::Busy { holder }),
                Locking::Failed(failure) => Err(self.failed(&failure)),
            },
            Self::SaveEtcd => self.saved(self.parsed(printed)?),
            Self::Raise => match self.parsed(printed)? {
                Ended::Raised(version) => Ok(Done::Raised(version)),
                Ended::NotRaised(not) => Err(Reason::RaiseFailed {
                    detail: complaint(&not.detail),
                }),
            },
            Self::GiveUp => match self.parsed(printed)? {
                GivingUp::GivenUp(_) => Ok(Done::GivenUp),
                GivingUp::NotGivenUp(why) => Err(self.failed(&why)),
            },
            Self::Yield => {
                let _: Yielding = self.parsed(printed)?;
                Ok(Done::Yielded)
            }
            Self::Unlock => match self.parsed(printed)? {
                Unlocking::Released { .. } | Unlocking::Absent | Unlocking::Others { .. } => {
                    Ok(Done::Unlocked)
                }
                Unlocking::Failed(failure) => Err(self.failed(&failure)),
            },
        }
    }

    fn saved(self, answer: Saving) -> Result<Done, Reason> {
        match answer {
            Saving::Saved(saved) => Ok(Done::SavedEtcd(Some(saved))),
            Saving::Refused(Refusal::External) => Ok(Done::SavedEtcd(None)),
            Saving::Refused(_) | Saving::Failed(_) | Saving::NotWritten { .. } => {
                Err(self.failed(&answer))
            }
        }
    }

    fn parsed<T: DeserializeOwned>(self, printed: &str) -> Result<T, Reason> {
        serde_json::from_str(printed)
            .map_err(|error| self.failed(&format!("its answer cannot be read: {error}")))
    }

    /// The reason for a task that was not performed.
    #[must_use]
    pub fn failed(self, detail: &dyn std::fmt::Display) -> Reason {
        Reason::ControlFailed {
            verb: self.verb().to_owned(),
            detail: complaint(&detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(task: Task, printed: &serde_json::Value) -> Result<Done, Reason> {
        task.read(&printed.to_string())
    }

    #[test]
    fn each_task_reads_the_answer_of_its_verb() {
        let locked = json!({ "answer": "locked", "holder": "cp-1/7", "taken": { "how": "free" } });
        assert_eq!(read(Task::Lock, &locked), Ok(Done::Locked));
        let busy = json!({ "answer": "busy", "holder": "cp-2/6" });
        let holder = "cp-2/6".into();
        assert_eq!(read(Task::Lock, &busy), Ok(Done::Busy { holder }));
        let survey = json!({ "survey": { "at": 1, "node": "cp-1", "kind": "stacked" },
            "findings": [{ "code": "NoRoom" }] });
        assert!(matches!(
            read(Task::Survey, &survey),
            Ok(Done::Surveyed(found)) if found.node.as_str() == "cp-1"
        ));
        let external = json!({ "answer": "refused", "because": "external" });
        assert_eq!(read(Task::SaveEtcd, &external), Ok(Done::SavedEtcd(None)));
        let raised = json!({ "raised": "v1.36.3" });
        let version = "v1.36.3".parse().unwrap();
        assert_eq!(read(Task::Raise, &raised), Ok(Done::Raised(version)));
        let given_up = json!({ "givenUp": "u1" });
        assert_eq!(read(Task::GiveUp, &given_up), Ok(Done::GivenUp));
        let absent = json!({ "answer": "absent" });
        assert_eq!(read(Task::Unlock, &absent), Ok(Done::Unlocked));
    }

    #[test]
    fn a_task_that_was_not_performed_says_why() {
        let failed = json!({ "answer": "failed", "source": "api", "why": "no route" });
        for task in [Task::Lock, Task::Unlock] {
            let Err(Reason::ControlFailed { verb, detail }) = read(task, &failed) else {
                panic!("{task:?}");
            };
            assert_eq!(verb, task.verb());
            assert!(detail.contains("no route"), "{detail}");
        }
        let not = json!({ "notRaised": { "phase": "kubeadm", "detail": "exit status 1" } });
        let detail = "exit status 1".to_owned();
        assert_eq!(read(Task::Raise, &not), Err(Reason::RaiseFailed { detail }));
        let not = json!({ "notGivenUp": "a raise runs on this node" });
        let Err(Reason::ControlFailed { verb, detail }) = read(Task::GiveUp, &not) else {
            panic!("a raise that runs is not given up");
        };
        assert_eq!(
            (verb.as_str(), detail.as_str()),
            ("give-up", "a raise runs on this node")
        );
        for task in Task::ALL {
            assert!(task.read("").is_err(), "{task:?}");
        }
    }

    #[test]
    fn a_leadership_that_stays_stops_no_upgrade() {
        let failed = json!({ "answer": "failed", "source": "etcd", "why": "no leader" });
        assert_eq!(read(Task::Yield, &failed), Ok(Done::Yielded));
    }
}
