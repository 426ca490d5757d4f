//! The kubelet's credential: whose it is, and how long it is valid.

use super::finding::Finding;
use super::patient::Patient;
use crate::cluster::certificate::{Certificate, Held, Unseen, held};

const NAME: &str = "credential";

/// The prefix that the Node authorizer puts before the node's name.
const NODE: &str = "system:node:";

const DAY: u64 = 24 * 3600;

/// A valid certificate of a node, or a token, which cannot be inspected.
pub(super) fn credential(patient: &Patient) -> Finding {
    let path = patient.kubeconfig.display();
    let bad = |seen: String, fix: &str| Finding::bad(NAME, seen, fix);
    match held(&patient.kubeconfig) {
        Ok(Held::Certificate(found)) => judge(&found, patient.clock.wall),
        Ok(Held::Token) => Finding::ok(
            NAME,
            format!("{path} has a token; the doctor cannot see when it expires"),
        ),
        Err(Unseen::Kubeconfig(error)) => {
            bad(format!("{path}: {error}"), "join the node: kubeadm join")
        }
        Err(Unseen::NoUser) => bad(
            format!("{path} does not name a user"),
            "join the node again: kubeadm join",
        ),
        Err(Unseen::Certificate(detail)) => bad(
            format!("{path}: {detail}"),
            "check the kubelet: systemctl status kubelet",
        ),
    }
}

fn judge(found: &Certificate, now: u64) -> Finding {
    let rotate =
        "check that the kubelet runs and that rotateCertificates is on: systemctl status kubelet";
    let user = &found.user;
    if !user.starts_with(NODE) {
        return Finding::bad(
            NAME,
            format!("it belongs to {user:?}, which is not a node"),
            "join the node again: kubeadm join",
        );
    }
    if now < found.from {
        let seen = format!(
            "{user}, valid only in {} days",
            (found.from - now).div_ceil(DAY)
        );
        return Finding::bad(NAME, seen, "set the clock");
    }
    if now >= found.until {
        let seen = format!("{user}, expired {} days ago", (now - found.until) / DAY);
        return Finding::bad(NAME, seen, rotate);
    }
    let left = found.until - now;
    let seen = format!("{user}, for {} more days", left / DAY);
    // The kubelet renews it after 70 to 90 percent of its lifetime (kubernetes,
    // certificate_manager.go).
    if left < (found.until - found.from) / 10 {
        return Finding::warn(NAME, seen, rotate);
    }
    Finding::ok(NAME, seen)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Bad, Ok as Well, Warn};
    use super::*;

    fn of(user: &str) -> Certificate {
        let (user, from, until) = (user.to_owned(), 100 * DAY, 200 * DAY);
        Certificate { user, from, until }
    }

    #[test]
    fn a_certificate_is_judged_by_its_times_and_its_user() {
        let at = |day: u64| judge(&of("system:node:n1"), day * DAY).verdict;
        assert_eq!(
            [99, 100, 189, 195, 200].map(at),
            [Bad, Well, Well, Warn, Bad]
        );
        let other = judge(&of("kubernetes-admin"), 150 * DAY);
        assert_eq!(other.verdict, Bad);
        assert!(other.found.contains("kubernetes-admin"), "{}", other.found);
    }
}
