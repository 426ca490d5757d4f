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
        Reason::StateOwed {
            id: "u1".into(),
            detail: x(),
            kept: "/sysroot/ostree/careen/snapshot-u1".into(),
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
        Reason::OlderImage {
            commit: "bbbb".into(),
            running: "aaaa".into(),
            seconds: 14 * 86_400,
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
        Reason::RecordUnwritten {
            detail: "writing /sysroot/ostree/careen/record.a.new: No space left on device".into(),
        },
        Reason::MachineUnseen {
            detail: "reading /boot/loader: Input/output error".into(),
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
        Reason::StateOwed { .. } => 9,
        Reason::Paused { .. } => 10,
        Reason::Busy { .. } => 11,
        Reason::NoSuchRef { .. } => 12,
        Reason::NoSuchCommit { .. } => 13,
        Reason::NoSuchImage { .. } => 14,
        Reason::NotEncapsulated { .. } => 15,
        Reason::RemoteAway { .. } => 16,
        Reason::Unsigned { .. } => 17,
        Reason::WrongSignature { .. } => 18,
        Reason::VerificationOff { .. } => 19,
        Reason::NoKernel { .. } => 20,
        Reason::NoImageInfo { .. } => 21,
        Reason::NoStage { .. } => 22,
        Reason::WrongArchitecture { .. } => 23,
        Reason::VersionMismatch { .. } => 24,
        Reason::Downgrade { .. } => 25,
        Reason::OlderImage { .. } => 26,
        Reason::NewerThanApiServer { .. } => 27,
        Reason::SkewTooLarge { .. } => 28,
        Reason::Damaged { .. } => 29,
        Reason::NoRoom { .. } => 30,
        Reason::LockHeld { .. } => 31,
        Reason::DeployFailed { .. } => 32,
        Reason::EtcMerge { .. } => 33,
        Reason::DeployDied { .. } => 34,
        Reason::BudgetBlocks { .. } => 35,
        Reason::DrainDeadline { .. } => 36,
        Reason::DrainRefused { .. } => 37,
        Reason::ApiAway { .. } => 38,
        Reason::Withdrawn => 39,
        Reason::SnapshotFailed { .. } => 40,
        Reason::ArmFailed { .. } => 41,
        Reason::TargetVanished { .. } => 42,
        Reason::RebootRefused { .. } => 43,
        Reason::StageRefused { .. } => 44,
        Reason::NoVerdict { .. } => 45,
        Reason::Unhealthy { .. } => 46,
        Reason::KubeadmFailed { .. } => 47,
        Reason::UserCheck { .. } => 48,
        Reason::ApiAwayInTrial { .. } => 49,
        Reason::NoApiFromNewSystem => 50,
        Reason::UnguardedBoot => 51,
        Reason::RecordNewer { .. } => 52,
        Reason::RecordDamaged { .. } => 53,
        Reason::RecordUnwritten { .. } => 54,
        Reason::MachineUnseen { .. } => 55,
        Reason::UnknownSystem { .. } => 56,
        Reason::ForeignDefault { .. } => 57,
        Reason::OptedOut { .. } => 58,
        Reason::WindowClosed { .. } => 59,
        Reason::Soaking { .. } => 60,
        Reason::HookFailed { .. } => 61,
        Reason::Unheard => 62,
    }
}
