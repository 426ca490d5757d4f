//! What is found about this node.

use super::code::{Class, Code};
use super::finding::{Finding, listed};
use crate::control_plane::expiry::{Certificate, Expiry, expiry};
use crate::control_plane::survey::{Source, Survey, Unseen};

/// What could not be read.
pub(super) fn unseen(survey: &Survey) -> Vec<Finding> {
    survey.unseen.iter().map(missed).collect()
}

fn missed(Unseen { source, why }: &Unseen) -> Finding {
    let (code, class, what, action) = match source {
        Source::Credential => (
            Code::NoAdminCredential,
            Class::Refuse,
            "a credential of this control plane cannot be used",
            "Run `kubeadm certs check-expiration` on this node",
        ),
        Source::Api => (
            Code::ApiAway,
            Class::Wait,
            "the API server was asked in vain",
            "Look at the API server, then ask again",
        ),
        Source::Etcd => (
            Code::EtcdUnhealthy,
            Class::Wait,
            "etcd was asked in vain",
            "Do not delete its data; look at its log first",
        ),
        Source::Manifest => (
            Code::NotSeen,
            Class::Refuse,
            "a manifest cannot be read",
            "Correct it, or write it again with kubeadm",
        ),
        Source::Certificate => (
            Code::NotSeen,
            Class::Warn,
            "a certificate cannot be read",
            "Look at the file",
        ),
        Source::Room => (
            Code::NotSeen,
            Class::Warn,
            "the room on a file system is not known",
            "Compare `df` with the documentation",
        ),
        Source::Kubeadm => (
            Code::NotSeen,
            Class::Warn,
            "kubeadm was asked in vain",
            "Run it by hand to see why",
        ),
    };
    let why = why.as_str().trim_end_matches('.');
    Finding::new(code, class, format!("{what}: {why}. {action}."))
}

/// Another upgrade. This node's own holds the lock as `<node>/<id>`.
pub(super) fn lock(survey: &Survey) -> Option<Finding> {
    let lock = survey.lock.as_ref()?;
    let holder = lock.holder.as_str();
    let node = holder.split('/').next().unwrap_or_default();
    (!holder.is_empty() && node != survey.node.as_str()).then(|| {
        let since = lock.since.map(|since| survey.at.saturating_sub(since));
        let since = since.map_or_else(String::new, |passed| format!(" since {}", span(passed)));
        let says = format!(
            "another upgrade has the control plane{since}: {holder}. Wait for its end; look at that node if it does not end."
        );
        Finding::wait(Code::ControlPlaneBusy, says)
    })
}

/// Certificates that are not valid now, or not for long.
pub(super) fn certificates(survey: &Survey) -> Vec<Finding> {
    let found = expiry(&survey.certificates, survey.at);
    let due = match &found {
        Expiry::Unknown | Expiry::Later(_) => return Vec::new(),
        Expiry::Early(one) => return vec![early(one, survey.at)],
        Expiry::Over(over) => ended(over),
        Expiry::Soon(first) => ends(first, survey.at),
    };
    let mut findings = vec![due];
    if !survey.external_authorities.is_empty() {
        let says = format!(
            "certificates must be renewed, but this node does not have the keys of their authorities: {}. Renew them where the keys are, and put them here.",
            listed(&survey.external_authorities)
        );
        findings.push(Finding::refuse(Code::ExternalCa, says));
    }
    findings
}

fn early(one: &Certificate, now: u64) -> Finding {
    let says = format!(
        "{} is not valid yet: it begins in {}. Set the clock.",
        one.name,
        span(one.from.saturating_sub(now))
    );
    Finding::refuse(Code::CertificatesExpired, says)
}

fn ended(over: &[&Certificate]) -> Finding {
    let says = format!(
        "certificates have ended: {}. Run `kubeadm certs renew all` on this node and restart its static pods.",
        listed(over.iter().map(|one| &one.name))
    );
    Finding::refuse(Code::CertificatesExpired, says)
}

fn ends(first: &Certificate, now: u64) -> Finding {
    let says = format!(
        "{} ends soon: in {}. Renew it with `kubeadm certs renew all`, or upgrade before that.",
        first.name,
        span(first.until.saturating_sub(now))
    );
    Finding::warn(Code::CertificatesExpireSoon, says)
}

/// A span of seconds, in its largest unit.
fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7200 => (seconds / 60, "min"),
        7200..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit}")
}

/// File systems without room for copies and snapshot.
pub(super) fn room(survey: &Survey) -> Vec<Finding> {
    let db = survey.db_bytes.unwrap_or(0);
    let short = survey.room.iter().filter(|place| place.missing(db) > 0);
    let finding = |place: &crate::control_plane::room::Place| {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let says = format!(
            "{} has too little room: {} MiB more are needed for kubeadm's copies of etcd and a snapshot. Remove old copies in /etc/kubernetes/tmp.",
            place.path,
            mib(place.missing(db))
        );
        Finding::refuse(Code::NoRoom, says)
    };
    short.map(finding).collect()
}

/// Files that the kubelet runs too, like a copy of a manifest under another name.
pub(super) fn manifests(survey: &Survey) -> Option<Finding> {
    let others = &survey.other_manifests;
    (!others.is_empty()).then(|| {
        let says = format!(
            "the folder of manifests has files that kubeadm does not know: {}. The kubelet runs each of them; remove copies.",
            listed(others)
        );
        Finding::warn(Code::OtherManifests, says)
    })
}
