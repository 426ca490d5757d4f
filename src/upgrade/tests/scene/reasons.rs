//! One of each reason, in the order of the code.

use upgrade::{Reason, Version};

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn x() -> String {
    "x".to_owned()
}

/// One of each.
#[allow(clippy::too_many_lines)]
pub fn all() -> Vec<Reason> {
    vec![
        Reason::BadRequest {
            field: "careen.dev/upgrade-id".into(),
            value: "a b".into(),
            accepted: "1 to 63 of a-z".into(),
        },
        Reason::BadPolicy {
            file: "/etc/careen/policy.toml".into(),
            line: 3,
            column: 1,
            detail: "trials is 0; accepted is 1 to 10".into(),
        },
        Reason::LoaderUnfit { detail: x() },
        Reason::RemoteNotAllowed {
            remote: "theirs".into(),
            allowed: "ours".into(),
        },
        Reason::UnknownRemote {
            remote: "theirs".into(),
        },
        Reason::RememberedBad {
            digest: "bbbb".into(),
            before: x(),
        },
        Reason::ControlPlane { sign: x() },
        Reason::NoSuchRef {
            remote: "theirs".into(),
            reference: "os/none".into(),
        },
        Reason::NoSuchCommit {
            remote: "theirs".into(),
            commit: "bbbb".into(),
        },
        Reason::RemoteAway {
            remote: "theirs".into(),
            detail: x(),
        },
        Reason::Unsigned {
            remote: "theirs".into(),
            commit: "bbbb".into(),
        },
        Reason::WrongSignature {
            remote: "theirs".into(),
            commit: "bbbb".into(),
            detail: x(),
        },
        Reason::VerificationOff {
            remote: "theirs".into(),
        },
        Reason::NoKernel {
            commit: "bbbb".into(),
        },
        Reason::NoImageInfo {
            commit: "bbbb".into(),
            detail: "it is missing".into(),
        },
        Reason::NoStage {
            commit: "bbbb".into(),
            found: Some(2),
        },
        Reason::WrongArchitecture {
            commit: "bbbb".into(),
            image: "aarch64".into(),
            machine: "x86_64".into(),
        },
        Reason::VersionMismatch {
            wanted: version("v1.36.4"),
            carried: version("v1.36.3"),
        },
        Reason::Downgrade {
            from: version("v1.35.4"),
            to: version("v1.34.0"),
        },
        Reason::NewerThanApiServer {
            kubelet: version("v1.36.3"),
            server: version("v1.35.4"),
        },
        Reason::SkewTooLarge {
            kubelet: version("v1.32.0"),
            server: version("v1.36.3"),
            allowed: 3,
        },
        Reason::Damaged {
            commit: "bbbb".into(),
            detail: x(),
        },
        Reason::NoRoom {
            place: x(),
            need: 2,
            free: 2,
        },
        Reason::LockHeld {
            holder: x(),
            seconds: 2,
        },
        Reason::DeployFailed {
            verb: x(),
            detail: x(),
        },
        Reason::EtcMerge { detail: x() },
        Reason::DeployDied {
            verb: x(),
            detail: x(),
        },
        Reason::BudgetBlocks {
            pdb: x(),
            pod: x(),
            seconds: 2,
        },
        Reason::DrainDeadline {
            pods: x(),
            seconds: 2,
        },
        Reason::DrainRefused { detail: x() },
        Reason::ApiAway { detail: x() },
        Reason::Withdrawn,
        Reason::SnapshotFailed { detail: x() },
        Reason::ArmFailed { detail: x() },
        Reason::TargetVanished {
            commit: "bbbb".into(),
        },
        Reason::RebootRefused { detail: x() },
        Reason::StageRefused { detail: x() },
        Reason::NoVerdict {
            commit: "bbbb".into(),
            tries: 2,
        },
        Reason::Unhealthy {
            check: x(),
            detail: x(),
            seconds: 2,
        },
        Reason::KubeadmFailed { detail: x() },
        Reason::UserCheck {
            name: x(),
            detail: x(),
        },
        Reason::ApiAwayInTrial { seconds: 2 },
        Reason::NoApiFromNewSystem,
        Reason::UnguardedBoot,
        Reason::RecordNewer {
            format: 7,
            known: 1,
        },
        Reason::RecordDamaged {
            detail: "no copy is whole (torn); remove them".into(),
        },
        Reason::UnknownSystem { booted: x() },
        Reason::ForeignDefault { default: x() },
        Reason::OptedOut {
            by: "careen.dev/opt-out".into(),
            why: "holds the lab's only GPU".into(),
        },
        Reason::WindowClosed {
            opens: "it opens Mon 22:00 Europe/Berlin".into(),
        },
        Reason::Soaking { seconds: 600 },
        Reason::HookFailed {
            hook: "10-battery".into(),
            detail: x(),
        },
        Reason::Unheard,
    ]
}

/// The place in the list: a new variant does not compile without one.
#[allow(clippy::too_many_lines)]
pub fn place(reason: &Reason) -> usize {
    match reason {
        Reason::BadRequest { .. } => 0,
        Reason::BadPolicy { .. } => 1,
        Reason::LoaderUnfit { .. } => 2,
        Reason::RemoteNotAllowed { .. } => 3,
        Reason::UnknownRemote { .. } => 4,
        Reason::RememberedBad { .. } => 5,
        Reason::ControlPlane { .. } => 6,
        Reason::NoSuchRef { .. } => 7,
        Reason::NoSuchCommit { .. } => 8,
        Reason::RemoteAway { .. } => 9,
        Reason::Unsigned { .. } => 10,
        Reason::WrongSignature { .. } => 11,
        Reason::VerificationOff { .. } => 12,
        Reason::NoKernel { .. } => 13,
        Reason::NoImageInfo { .. } => 14,
        Reason::NoStage { .. } => 15,
        Reason::WrongArchitecture { .. } => 16,
        Reason::VersionMismatch { .. } => 17,
        Reason::Downgrade { .. } => 18,
        Reason::NewerThanApiServer { .. } => 19,
        Reason::SkewTooLarge { .. } => 20,
        Reason::Damaged { .. } => 21,
        Reason::NoRoom { .. } => 22,
        Reason::LockHeld { .. } => 23,
        Reason::DeployFailed { .. } => 24,
        Reason::EtcMerge { .. } => 25,
        Reason::DeployDied { .. } => 26,
        Reason::BudgetBlocks { .. } => 27,
        Reason::DrainDeadline { .. } => 28,
        Reason::DrainRefused { .. } => 29,
        Reason::ApiAway { .. } => 30,
        Reason::Withdrawn => 31,
        Reason::SnapshotFailed { .. } => 32,
        Reason::ArmFailed { .. } => 33,
        Reason::TargetVanished { .. } => 34,
        Reason::RebootRefused { .. } => 35,
        Reason::StageRefused { .. } => 36,
        Reason::NoVerdict { .. } => 37,
        Reason::Unhealthy { .. } => 38,
        Reason::KubeadmFailed { .. } => 39,
        Reason::UserCheck { .. } => 40,
        Reason::ApiAwayInTrial { .. } => 41,
        Reason::NoApiFromNewSystem => 42,
        Reason::UnguardedBoot => 43,
        Reason::RecordNewer { .. } => 44,
        Reason::RecordDamaged { .. } => 45,
        Reason::UnknownSystem { .. } => 46,
        Reason::ForeignDefault { .. } => 47,
        Reason::OptedOut { .. } => 48,
        Reason::WindowClosed { .. } => 49,
        Reason::Soaking { .. } => 50,
        Reason::HookFailed { .. } => 51,
        Reason::Unheard => 52,
    }
}
