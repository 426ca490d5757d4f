//! Whether the stage's last check has let the kubelet and its runtime start in this boot. They only want it and wait for it: where systemd has dropped it
//! from the boot, for a cycle of orders or because it is masked, they start unchecked, and nothing else would show that.

use systemd::{ActiveState, Bus};
use upgrade::names::CHECK_UNIT;
use upgrade::observe::Check;

/// Asks systemd.
pub async fn check() -> Check {
    let state = async { Bus::system().await?.state(CHECK_UNIT).await };
    by(state.await)
}

/// The unit stays `active` once it has passed; one that has not passed reboots.
fn by(state: systemd::Result<Option<ActiveState>>) -> Check {
    let state = match state {
        Err(error) => return Check::Pending(format!("systemd does not answer: {error}")),
        Ok(None) => "not loaded".to_owned(),
        Ok(Some(ActiveState::Active)) => return Check::Pass,
        Ok(Some(ActiveState::Activating)) => return Check::Pending("it is running".to_owned()),
        Ok(Some(other)) => other.as_str().to_owned(),
    };
    Check::Fail(format!(
        "it is {state}, so kubelet and container runtime have started unchecked; look whether it is masked (`systemctl status {CHECK_UNIT}`) or was \
             dropped for a cycle (`journalctl -b | grep 'ordering cycle'`)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(state: &str) -> Check {
        by(Ok(Some(state.to_owned().into())))
    }

    #[test]
    fn a_trial_whose_last_check_was_dropped_from_the_boot_does_not_pass() {
        assert_eq!(state("active"), Check::Pass);
        for gone in [by(Ok(None)), state("inactive"), state("failed")] {
            let Check::Fail(why) = gone else {
                panic!("{gone:?}");
            };
            assert!(
                why.contains("unchecked") && why.contains(CHECK_UNIT),
                "{why}"
            );
        }
    }

    #[test]
    fn a_systemd_that_does_not_answer_is_no_word_against_the_last_check() {
        let away = by(Err(systemd::Error::Failure("no answer".to_owned())));
        assert!(matches!(away, Check::Pending(_)));
        assert!(matches!(state("activating"), Check::Pending(_)));
    }
}
