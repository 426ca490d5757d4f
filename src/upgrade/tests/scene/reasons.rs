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
        Reason::NothingKept,
        Reason::ControlPlane { sign: x() },
        Reason::Paused {
            why: "an audit".into(),
        },
        Reason::Busy {
            phase: "Drained".into(),
        },
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
        Reason::NothingKept => 6,
        Reason::ControlPlane { .. } => 7,
        Reason::Paused { .. } => 8,
        Reason::Busy { .. } => 9,
        Reason::NoSuchRef { .. } => 10,
        Reason::NoSuchCommit { .. } => 11,
        Reason::RemoteAway { .. } => 12,
        Reason::Unsigned { .. } => 13,
        Reason::WrongSignature { .. } => 14,
        Reason::VerificationOff { .. } => 15,
        Reason::NoKernel { .. } => 16,
        Reason::NoImageInfo { .. } => 17,
        Reason::NoStage { .. } => 18,
        Reason::WrongArchitecture { .. } => 19,
        Reason::VersionMismatch { .. } => 20,
        Reason::Downgrade { .. } => 21,
        Reason::NewerThanApiServer { .. } => 22,
        Reason::SkewTooLarge { .. } => 23,
        Reason::Damaged { .. } => 24,
        Reason::NoRoom { .. } => 25,
        Reason::LockHeld { .. } => 26,
        Reason::DeployFailed { .. } => 27,
        Reason::EtcMerge { .. } => 28,
        Reason::DeployDied { .. } => 29,
        Reason::BudgetBlocks { .. } => 30,
        Reason::DrainDeadline { .. } => 31,
        Reason::DrainRefused { .. } => 32,
        Reason::ApiAway { .. } => 33,
        Reason::Withdrawn => 34,
        Reason::SnapshotFailed { .. } => 35,
        Reason::ArmFailed { .. } => 36,
        Reason::TargetVanished { .. } => 37,
        Reason::RebootRefused { .. } => 38,
        Reason::StageRefused { .. } => 39,
        Reason::NoVerdict { .. } => 40,
        Reason::Unhealthy { .. } => 41,
        Reason::KubeadmFailed { .. } => 42,
        Reason::UserCheck { .. } => 43,
        Reason::ApiAwayInTrial { .. } => 44,
        Reason::NoApiFromNewSystem => 45,
        Reason::UnguardedBoot => 46,
        Reason::RecordNewer { .. } => 47,
        Reason::RecordDamaged { .. } => 48,
        Reason::UnknownSystem { .. } => 49,
        Reason::ForeignDefault { .. } => 50,
        Reason::OptedOut { .. } => 51,
        Reason::WindowClosed { .. } => 52,
        Reason::Soaking { .. } => 53,
        Reason::HookFailed { .. } => 54,
        Reason::Unheard => 55,
    }
}
