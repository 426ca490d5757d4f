//! What the old system makes of a pod sandbox, before the node is taken from its users.

use std::time::Duration;

use cri::Outcome;
use tokio::time::{Instant, sleep};
use upgrade::policy::Demand;
use upgrade::{Policy, Reason};

use super::sandbox::{LIMIT, SandboxRequest, Wanted};

/// For how long the runtime may refuse before that counts.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is asked in that time while it refuses.
const TRIES: u32 = 4;

/// How often it is asked for an address. A network plugin that restarts gives none for a moment.
const NETWORK_TRIES: u32 = 3;

/// What the running system makes of a pod sandbox of Careen.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// It starts, and has an address of its own.
    Starts,
    /// It starts, and the runtime gives it no address, with these words.
    WithoutNetwork(String),
    /// The runtime refuses to start it, all the time.
    Refused(String),
    /// The runtime was not asked.
    Unknown,
}

/// The note of the old system: what the new one need not do better.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// A sandbox starts, and has an address.
    pub has_address: bool,
    /// Why a sandbox starts and has no address, in the runtime's words.
    pub network_refusal: Option<String>,
    /// The runtime refuses to start one, and the policy does not demand one.
    pub is_excused: bool,
}

/// Asks the running system for a pod sandbox. The trial asks the new system for an address only if
/// the old one gave one. Otherwise it asks whether the network plugins run, if they did.
pub async fn before(policy: &Policy) -> Before {
    let demanded = policy.health.sandbox;
    if demanded == Demand::Off {
        return Before::default();
    }
    let answer = asked_for(&SandboxRequest::of_this_node(Wanted::Address), PATIENCE).await;
    noted(answer, demanded)
}

fn noted(answer: Answer, demanded: Demand) -> Before {
    Before {
        has_address: answer == Answer::Starts,
        is_excused: matches!(answer, Answer::Refused(_)) && demanded != Demand::Require,
        network_refusal: match answer {
            Answer::WithoutNetwork(why) => Some(why),
            Answer::Starts | Answer::Refused(_) | Answer::Unknown => None,
        },
    }
}

/// Whether the running system starts a pod sandbox, if the policy demands that of the new one. A
/// runtime that is not asked, as one that does not run, refuses no upgrade: that may be its cure.
///
/// # Errors
/// [`Reason::UnhealthyBefore`] if the runtime refuses time and again: each trial would fail too.
pub async fn starts_pods(policy: &Policy) -> Result<(), Reason> {
    let health = &policy.health;
    if health.sandbox != Demand::Require || health.rehearse == Demand::Off {
        return Ok(());
    }
    let answer = asked_for(&SandboxRequest::of_this_node(Wanted::Address), PATIENCE).await;
    demand(refusal(answer), policy)
}

/// What the policy makes of a check that fails on the old system.
pub(super) fn demand(amiss: Result<(), Reason>, policy: &Policy) -> Result<(), Reason> {
    match amiss {
        Err(reason) if policy.health.rehearse != Demand::Require => {
            tracing::warn!("{reason}");
            Ok(())
        }
        passed_or_required => passed_or_required,
    }
}

fn refusal(answer: Answer) -> Result<(), Reason> {
    match answer {
        Answer::Refused(why) => Err(Reason::UnhealthyBefore {
            check: "pod sandbox".to_owned(),
            detail: format!("the container runtime starts no new pod: {why}"),
        }),
        Answer::Starts | Answer::WithoutNetwork(_) | Answer::Unknown => Ok(()),
    }
}

/// One refusal may pass: a registry is away for a moment, or the runtime restarts.
async fn asked_for(asked: &SandboxRequest, patience: Duration) -> Answer {
    let begun = Instant::now();
    let mut without_network = 0;
    loop {
        let pause = match asked.once(LIMIT).await {
            Outcome::Starts => return Answer::Starts,
            Outcome::Unknown(_) => return Answer::Unknown,
            Outcome::No(why) if begun.elapsed() >= patience => return Answer::Refused(why),
            Outcome::No(_) => patience / TRIES,
            Outcome::WithoutNetwork(why) => {
                without_network += 1;
                if without_network == NETWORK_TRIES {
                    return Answer::WithoutNetwork(why);
                }
                patience / 30
            }
        };
        sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    async fn asked(script: &str) -> Answer {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("careen-deploy");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let asked = SandboxRequest {
            program,
            socket: "/nowhere".into(),
            network: Wanted::Address,
            patience: Duration::ZERO,
        };
        asked_for(&asked, Duration::from_millis(400)).await
    }

    #[tokio::test]
    async fn only_a_lasting_refusal_of_the_old_system_counts() {
        let once = |status: u8| format!("test -e $0.asked || {{ touch $0.asked; exit {status}; }}");
        let without = Answer::WithoutNetwork("no pod".to_owned());
        for (script, expected) in [
            ("exit 0".to_owned(), Answer::Starts),
            (once(1), Answer::Starts),
            (once(3), Answer::Starts),
            ("echo no pod >&2; exit 3".to_owned(), without),
            ("exit 4".to_owned(), Answer::Unknown),
            (
                "echo gone >&2; exit 1".to_owned(),
                Answer::Refused("gone".to_owned()),
            ),
        ] {
            assert_eq!(asked(&script).await, expected, "{script}");
        }
    }

    #[test]
    fn runtime_that_starts_no_pod_ends_it_before_the_cordon() {
        let refused = Answer::Refused("pause:9.9: no such host".to_owned());
        let Err(Reason::UnhealthyBefore { check, detail }) = refusal(refused) else {
            panic!("it is let through");
        };
        assert_eq!(check, "pod sandbox");
        assert!(detail.ends_with("pause:9.9: no such host"), "{detail}");
        assert_eq!(refusal(Answer::Unknown), Ok(()));
        assert_eq!(refusal(Answer::WithoutNetwork("no pod".to_owned())), Ok(()));
    }

    #[test]
    fn note_has_the_words_with_which_a_network_was_refused() {
        let refused = || Answer::WithoutNetwork("no pod".to_owned());
        let note = noted(refused(), Demand::Require);
        assert_eq!(note.network_refusal.as_deref(), Some("no pod"));
        assert!(!note.has_address && !note.is_excused, "{note:?}");
        let note = noted(Answer::Starts, Demand::Require);
        assert!(
            note.has_address && note.network_refusal.is_none(),
            "{note:?}"
        );
    }
}
