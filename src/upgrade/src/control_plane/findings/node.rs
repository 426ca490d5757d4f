//! What is found about this node.

use super::code::{Class, Code};
use super::finding::{Finding, listed};
use crate::control_plane::expiry::{Certificate, Expiry, expiry};
use crate::control_plane::failure::told;
use crate::control_plane::lock::{Held, Locking};
use crate::control_plane::span::span;
use crate::control_plane::survey::{Source, Survey, Unseen};
use crate::control_plane::text::Name;

/// What could not be read.
pub(super) fn unseen(survey: &Survey) -> Vec<Finding> {
    survey.unseen.iter().map(missed).collect()
}

fn missed(Unseen { source, why }: &Unseen) -> Finding {
    let (code, class) = match source {
        Source::Credential => (Code::NoAdminCredential, Class::Refuse),
        Source::Api | Source::Endpoint => (Code::ApiAway, Class::Wait),
        Source::Etcd => (Code::EtcdUnhealthy, Class::Wait),
        // The raise imports each of them, after the node has left its load balancers.
        Source::Manifest | Source::Archive => (Code::NotSeen, Class::Refuse),
        Source::Certificate | Source::Room | Source::Kubeadm | Source::Runtime => {
            (Code::NotSeen, Class::Warn)
        }
    };
    Finding::new(code, class, told(*source, why))
}

/// Another upgrade. This node's own holds the lock as `<node>/<id>`.
pub(super) fn lock(survey: &Survey) -> Option<Finding> {
    let lock = survey.lock.as_ref()?;
    let ours = match Held::of(Some(lock.holder.as_str())) {
        Held::Free => true,
        Held::By(holder) => Name::from(holder.node()) == survey.node,
        Held::Somebody(_) => false,
    };
    let busy = Locking::Busy {
        holder: lock.holder.clone(),
        since: lock.since,
        passed: lock.since.map(|since| survey.at.saturating_sub(since)),
    };
    (!ours).then(|| Finding::wait(Code::ControlPlaneBusy, busy.to_string()))
}

/// Evicted pods would have no place to start.
pub(super) fn alone(survey: &Survey) -> Option<Finding> {
    let says = "no other Node takes pods: the upgrade evicts nothing, and the pods stop with the \
        node and start on it again. Uncordon a node that can take them.";
    survey
        .alone
        .then(|| Finding::warn(Code::NoOtherNode, says.to_owned()))
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
