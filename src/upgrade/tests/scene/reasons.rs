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
            allowed: "remotes = [\"ours\"]".into(),
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
        Reason::NoSuchImage {
            image: "docker://registry.example.com/os@sha256:bbbb".into(),
            found: None,
        },
        Reason::NotEncapsulated {
            image: "docker://registry.example.com/os@sha256:bbbb".into(),
            detail: x(),
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
        Reason::NoSuchImage { .. } => 9,
        Reason::NotEncapsulated { .. } => 10,
        Reason::RemoteAway { .. } => 11,
        Reason::Unsigned { .. } => 12,
        Reason::WrongSignature { .. } => 13,
        Reason::VerificationOff { .. } => 14,
        Reason::NoKernel { .. } => 15,
        Reason::NoImageInfo { .. } => 16,
        Reason::NoStage { .. } => 17,
        Reason::WrongArchitecture { .. } => 18,
        Reason::VersionMismatch { .. } => 19,
        Reason::Downgrade { .. } => 20,
        Reason::NewerThanApiServer { .. } => 21,
        Reason::SkewTooLarge { .. } => 22,
        Reason::Damaged { .. } => 23,
        Reason::NoRoom { .. } => 24,
        Reason::LockHeld { .. } => 25,
        Reason::DeployFailed { .. } => 26,
        Reason::EtcMerge { .. } => 27,
        Reason::DeployDied { .. } => 28,
        Reason::BudgetBlocks { .. } => 29,
        Reason::DrainDeadline { .. } => 30,
        Reason::DrainRefused { .. } => 31,
        Reason::ApiAway { .. } => 32,
        Reason::Withdrawn => 33,
        Reason::SnapshotFailed { .. } => 34,
        Reason::ArmFailed { .. } => 35,
        Reason::TargetVanished { .. } => 36,
        Reason::RebootRefused { .. } => 37,
        Reason::StageRefused { .. } => 38,
        Reason::NoVerdict { .. } => 39,
        Reason::Unhealthy { .. } => 40,
        Reason::KubeadmFailed { .. } => 41,
        Reason::UserCheck { .. } => 42,
        Reason::ApiAwayInTrial { .. } => 43,
        Reason::NoApiFromNewSystem => 44,
        Reason::UnguardedBoot => 45,
        Reason::RecordNewer { .. } => 46,
        Reason::RecordDamaged { .. } => 47,
        Reason::UnknownSystem { .. } => 48,
        Reason::ForeignDefault { .. } => 49,
        Reason::Unheard => 50,
    }
}
