//! What is tried on the running system because it would only fail in the trial.

use upgrade::{Policy, Reason};

use super::drain::Held;
use crate::access::NodeAccess;

/// Tries it before the node is taken from its users. Whether a pod can start is asked each time: an
/// image that a clean-up or a registry has taken away shows only there.
pub(super) async fn out<H: NodeAccess>(
    node: &H,
    policy: &Policy,
    rehearsal_is_due: bool,
) -> Result<(), Reason> {
    if rehearsal_is_due {
        node.rehearse(policy).await?;
    }
    node.starts_pods(policy).await
}

/// Tries it again before the arming, if the policy is not that of the last rehearsal: its operator
/// may have made it stricter. The runtime of a drained node still starts pods. The operator's
/// checks run only for another `health.rehearse`, because a pre-hook may have stopped what they
/// look at: an agent that only restarted must not refuse what an earlier one has let through.
pub(super) async fn before_arming<H: NodeAccess>(
    node: &H,
    held: &Held,
    policy: &Policy,
) -> Result<(), Reason> {
    if held.follows(policy) {
        return Ok(());
    }
    if held.demanded_otherwise(policy) {
        node.passes_checks(policy).await?;
    }
    node.starts_pods(policy).await
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::sync::watch;
    use upgrade::plan::Found;
    use upgrade::policy::Demand;
    use upgrade::serving::Serving;
    use upgrade::{Observation, Record, UpgradeId};

    use super::*;
    use crate::access::{Ahead, Errand, Local, StepEnd};
    use crate::task::Task;

    /// A drained node on which a required check fails, and perhaps no pod starts.
    #[derive(Default)]
    struct Drained {
        no_pods: bool,
        asked: Mutex<Vec<&'static str>>,
    }

    impl Drained {
        fn ask(&self, check: &'static str, demanded: Demand, fails: bool) -> Result<(), Reason> {
            self.asked.lock().unwrap().push(check);
            match fails && demanded == Demand::Require {
                true => Err(Reason::UnhealthyBefore {
                    check: check.to_owned(),
                    detail: "it fails".to_owned(),
                }),
                false => Ok(()),
            }
        }
    }

    impl NodeAccess for Drained {
        fn look(&self, _: &Record) -> Result<Observation, String> {
            unreachable!()
        }

        async fn look_ahead(&self, _: Ahead) -> Result<Found, Reason> {
            unreachable!()
        }

        async fn perform(&self, _: Task, _: Errand) -> Result<StepEnd, Reason> {
            unreachable!()
        }

        async fn passes_checks(&self, policy: &Policy) -> Result<(), Reason> {
            self.ask("checks", policy.health.rehearse, true)
        }

        async fn starts_pods(&self, policy: &Policy) -> Result<(), Reason> {
            self.ask("pods", policy.health.sandbox, self.no_pods)
        }

        async fn serves(&self, _: &Policy) -> Serving {
            unreachable!()
        }

        async fn check(
            &self,
            _: UpgradeId,
            _: Serving,
            _: Arc<Policy>,
            _: watch::Sender<Option<Local>>,
        ) {
        }
    }

    fn policy(rehearse: Demand, sandbox: Demand) -> Policy {
        let mut policy = Policy::default();
        (policy.health.rehearse, policy.health.sandbox) = (rehearse, sandbox);
        policy
    }

    /// What is asked before the arming under `now`, and which check refuses. The rehearsal was
    /// under `before`.
    async fn asked(
        no_pods: bool,
        before: Option<Policy>,
        now: &Policy,
    ) -> (Vec<&'static str>, Option<String>) {
        let (node, held) = (
            Drained {
                no_pods,
                ..Drained::default()
            },
            Held::default(),
        );
        if let Some(before) = before {
            held.note(&Arc::new(before));
        }
        let refused = match before_arming(&node, &held, now).await {
            Err(Reason::UnhealthyBefore { check, .. }) => Some(check),
            other => {
                assert_eq!(other, Ok(()));
                None
            }
        };
        (node.asked.into_inner().unwrap(), refused)
    }

    #[tokio::test]
    async fn rehearsal_required_after_the_drain_refuses_the_arming() {
        use Demand::{Off, Require, Warn};
        for before in [Warn, Off] {
            let before = Some(policy(before, Require));
            let (_, refused) = asked(false, before, &policy(Require, Require)).await;
            assert_eq!(refused.as_deref(), Some("checks"));
        }
        let before = Some(policy(Require, Warn));
        let (_, refused) = asked(true, before, &policy(Require, Require)).await;
        assert_eq!(refused.as_deref(), Some("pods"));
    }

    #[tokio::test]
    async fn operators_checks_wait_for_another_rehearse_key() {
        let strict = || policy(Demand::Require, Demand::Require);
        assert_eq!(asked(true, Some(strict()), &strict()).await, (vec![], None));
        let mut other = strict();
        other.limits.io_weight += 1;
        for before in [Some(other), None] {
            assert_eq!(asked(false, before, &strict()).await, (vec!["pods"], None));
        }
    }
}
