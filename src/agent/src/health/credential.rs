//! Whether the kubelet's own certificate keeps it from starting. On any system, the kubelet rejects
//! a certificate that has expired by this machine's clock (kubernetes,
//! pkg/kubelet/certificate/bootstrap/bootstrap.go, `isClientConfigStillValid`).

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use upgrade::observe::Check;

use crate::cluster::certificate::{Certificate, Held, held};

const DAY: u64 = 24 * 3600;

/// Looks only while the kubelet is not healthy. A certificate that cannot be read is no excuse for
/// the kubelet.
pub fn check(kubeconfig: &Path, kubelet: &Check) -> Check {
    if *kubelet == Check::Pass {
        return Check::Pass;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    match (held(kubeconfig), now) {
        (Ok(Held::Certificate(found)), Ok(now)) => judge(&found, now.as_secs()),
        (Ok(Held::Token), _) => Check::Pass,
        (Err(error), _) => Check::Pending(error.to_string()),
        (_, Err(error)) => Check::Pending(error.to_string()),
    }
}

fn judge(found: &Certificate, now: u64) -> Check {
    if now <= found.until {
        return Check::Pass;
    }
    Check::Fail(format!(
        "the kubelet's certificate expired {} days ago by this machine's clock, and the kubelet does not start without one",
        (now - found.until) / DAY
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: u64) -> Check {
        let (user, from, until) = ("system:node:n1".to_owned(), 100 * DAY, 200 * DAY);
        judge(&Certificate { user, from, until }, day * DAY)
    }

    #[test]
    fn expired_certificate_fails_the_check_and_a_future_one_passes() {
        // The kubelet accepts a certificate that is not valid yet; the server does not.
        assert_eq!(
            [99, 150, 200].map(at),
            [Check::Pass, Check::Pass, Check::Pass]
        );
        let Check::Fail(why) = at(203) else {
            panic!("{:?}", at(203))
        };
        assert!(why.contains("3 days ago"), "{why}");
    }

    #[test]
    fn unreadable_credential_is_pending_only_if_the_kubelet_is_down() {
        let nowhere = Path::new("/nowhere/kubelet.conf");
        assert_eq!(check(nowhere, &Check::Pass), Check::Pass);
        let down = Check::Fail("connection refused".to_owned());
        assert!(matches!(check(nowhere, &down), Check::Pending(_)));
    }
}
