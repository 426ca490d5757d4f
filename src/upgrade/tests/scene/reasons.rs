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
        Reason::NoSuchImage { .. } => 12,
        Reason::NotEncapsulated { .. } => 13,
        Reason::RemoteAway { .. } => 14,
        Reason::Unsigned { .. } => 15,
        Reason::WrongSignature { .. } => 16,
        Reason::VerificationOff { .. } => 17,
        Reason::NoKernel { .. } => 18,
        Reason::NoImageInfo { .. } => 19,
        Reason::NoStage { .. } => 20,
        Reason::WrongArchitecture { .. } => 21,
        Reason::VersionMismatch { .. } => 22,
        Reason::Downgrade { .. } => 23,
        Reason::NewerThanApiServer { .. } => 24,
        Reason::SkewTooLarge { .. } => 25,
        Reason::Damaged { .. } => 26,
        Reason::NoRoom { .. } => 27,
        Reason::LockHeld { .. } => 28,
        Reason::DeployFailed { .. } => 29,
        Reason::EtcMerge { .. } => 30,
        Reason::DeployDied { .. } => 31,
        Reason::BudgetBlocks { .. } => 32,
        Reason::DrainDeadline { .. } => 33,
        Reason::DrainRefused { .. } => 34,
        Reason::ApiAway { .. } => 35,
        Reason::Withdrawn => 36,
        Reason::SnapshotFailed { .. } => 37,
        Reason::ArmFailed { .. } => 38,
        Reason::TargetVanished { .. } => 39,
        Reason::RebootRefused { .. } => 40,
        Reason::StageRefused { .. } => 41,
        Reason::NoVerdict { .. } => 42,
        Reason::Unhealthy { .. } => 43,
        Reason::KubeadmFailed { .. } => 44,
        Reason::UserCheck { .. } => 45,
        Reason::ApiAwayInTrial { .. } => 46,
        Reason::NoApiFromNewSystem => 47,
        Reason::UnguardedBoot => 48,
        Reason::RecordNewer { .. } => 49,
        Reason::RecordDamaged { .. } => 50,
        Reason::UnknownSystem { .. } => 51,
        Reason::ForeignDefault { .. } => 52,
        Reason::OptedOut { .. } => 53,
        Reason::WindowClosed { .. } => 54,
        Reason::Soaking { .. } => 55,
        Reason::HookFailed { .. } => 56,
        Reason::Unheard => 57,
    }
}
