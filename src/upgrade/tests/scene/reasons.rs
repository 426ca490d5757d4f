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
        Reason::NoWatchdog {
            found: "no watchdog".into(),
        },
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
        Reason::NoWatchdog { .. } => 8,
        Reason::Paused { .. } => 9,
        Reason::Busy { .. } => 10,
        Reason::NoSuchRef { .. } => 11,
        Reason::NoSuchCommit { .. } => 12,
        Reason::NoSuchImage { .. } => 13,
        Reason::NotEncapsulated { .. } => 14,
        Reason::RemoteAway { .. } => 15,
        Reason::Unsigned { .. } => 16,
        Reason::WrongSignature { .. } => 17,
        Reason::VerificationOff { .. } => 18,
        Reason::NoKernel { .. } => 19,
        Reason::NoImageInfo { .. } => 20,
        Reason::NoStage { .. } => 21,
        Reason::WrongArchitecture { .. } => 22,
        Reason::VersionMismatch { .. } => 23,
        Reason::Downgrade { .. } => 24,
        Reason::NewerThanApiServer { .. } => 25,
        Reason::SkewTooLarge { .. } => 26,
        Reason::Damaged { .. } => 27,
        Reason::NoRoom { .. } => 28,
        Reason::LockHeld { .. } => 29,
        Reason::DeployFailed { .. } => 30,
        Reason::EtcMerge { .. } => 31,
        Reason::DeployDied { .. } => 32,
        Reason::BudgetBlocks { .. } => 33,
        Reason::DrainDeadline { .. } => 34,
        Reason::DrainRefused { .. } => 35,
        Reason::ApiAway { .. } => 36,
        Reason::Withdrawn => 37,
        Reason::SnapshotFailed { .. } => 38,
        Reason::ArmFailed { .. } => 39,
        Reason::TargetVanished { .. } => 40,
        Reason::RebootRefused { .. } => 41,
        Reason::StageRefused { .. } => 42,
        Reason::NoVerdict { .. } => 43,
        Reason::Unhealthy { .. } => 44,
        Reason::KubeadmFailed { .. } => 45,
        Reason::UserCheck { .. } => 46,
        Reason::ApiAwayInTrial { .. } => 47,
        Reason::NoApiFromNewSystem => 48,
        Reason::UnguardedBoot => 49,
        Reason::RecordNewer { .. } => 50,
        Reason::RecordDamaged { .. } => 51,
        Reason::UnknownSystem { .. } => 52,
        Reason::ForeignDefault { .. } => 53,
        Reason::OptedOut { .. } => 54,
        Reason::WindowClosed { .. } => 55,
        Reason::Soaking { .. } => 56,
        Reason::HookFailed { .. } => 57,
        Reason::Unheard => 58,
    }
}
