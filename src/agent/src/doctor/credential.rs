//! The kubelet's credential: whose it is, and how long it holds.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Kubeconfig};
use x509_parser::pem::Pem;

use super::{Finding, Patient};

const NAME: &str = "credential";

/// What the Node authorizer puts before the node's name.
const NODE: &str = "system:node:";

const DAY: u64 = 24 * 3600;

/// What a certificate says, in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Certificate {
    user: String,
    from: u64,
    until: u64,
}

/// A node's certificate that holds, or a token, of which nothing can be seen.
pub(super) fn credential(patient: &Patient) -> Finding {
    let path = patient.kubeconfig.display();
    let content = match Kubeconfig::read_from(&patient.kubeconfig) {
        Ok(content) => content,
        Err(error) => {
            return Finding::bad(
                NAME,
                format!("{path}: {error}"),
                "join the node: kubeadm join",
            );
        }
    };
    let Some(user) = user(&content) else {
        return Finding::bad(
            NAME,
            format!("{path} names no user"),
            "join the node anew: kubeadm join",
        );
    };
    if user.token.is_some() || user.token_file.is_some() {
        return Finding::ok(
            NAME,
            format!("{path} has a token, whose end cannot be seen"),
        );
    }
    match certificate(&user) {
        Ok(found) => judge(&found, patient.clock.wall),
        Err(detail) => Finding::bad(
            NAME,
            format!("{path}: {detail}"),
            "look at the kubelet: systemctl status kubelet",
        ),
    }
}

/// The user of the context in use, or the only one.
fn user(content: &Kubeconfig) -> Option<AuthInfo> {
    let current = content.current_context.as_ref();
    let context = content
        .contexts
        .iter()
        .find(|named| Some(&named.name) == current);
    let wanted = context.and_then(|named| named.context.as_ref()?.user.clone());
    let mut users = content.auth_infos.iter();
    let found = users.find(|named| wanted.as_ref().is_none_or(|name| *name == named.name));
    found?.auth_info.clone()
}

fn certificate(user: &AuthInfo) -> Result<Certificate, String> {
    let pem = match (&user.client_certificate_data, &user.client_certificate) {
        (Some(data), _) => STANDARD.decode(data).map_err(|error| error.to_string())?,
        (None, Some(path)) => fs::read(path).map_err(|error| format!("{path}: {error}"))?,
        (None, None) => return Err("there is no client certificate".to_owned()),
    };
    // The kubelet keeps key and certificate in one file.
    let blocks = Pem::iter_from_buffer(&pem).flatten();
    let mut certificates = blocks.filter(|block| block.label == "CERTIFICATE");
    let block = certificates.next().ok_or("there is no certificate in it")?;
    let found = block.parse_x509().map_err(|error| error.to_string())?;
    let seconds = |time: i64| u64::try_from(time).unwrap_or(0);
    let mut names = found.subject().iter_common_name();
    Ok(Certificate {
        user: names
            .find_map(|name| name.as_str().ok())
            .unwrap_or_default()
            .to_owned(),
        from: seconds(found.validity().not_before.timestamp()),
        until: seconds(found.validity().not_after.timestamp()),
    })
}

fn judge(found: &Certificate, now: u64) -> Finding {
    let rotate = "is the kubelet up, and rotateCertificates on? systemctl status kubelet";
    let user = &found.user;
    if !user.starts_with(NODE) {
        return Finding::bad(
            NAME,
            format!("it is for {user:?}, not for a node"),
            "join the node anew: kubeadm join",
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
        let seen = format!("{user}, ran out {} days ago", (now - found.until) / DAY);
        return Finding::bad(NAME, seen, rotate);
    }
    let left = found.until - now;
    let seen = format!("{user}, for {} more days", left / DAY);
    // The kubelet renews it when 70 to 90 percent of its time are over (kubernetes, certificate_manager.go).
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
        assert!(other.seen.contains("kubernetes-admin"), "{}", other.seen);
    }
}
