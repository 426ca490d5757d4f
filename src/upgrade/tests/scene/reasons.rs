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
        Reason::CheckUntrusted {
            name: "50-storage".into(),
            detail: x(),
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
        Reason::NoAgent {
            commit: "bbbb".into(),
            lacks: "careen-deadman.timer (not enabled), /usr/libexec/careen/careen-agent".into(),
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
        Reason::CheckUntrusted { .. } => 10,
        Reason::Paused { .. } => 11,
        Reason::Busy { .. } => 12,
        Reason::NoSuchRef { .. } => 13,
        Reason::NoSuchCommit { .. } => 14,
        Reason::NoSuchImage { .. } => 15,
        Reason::NotEncapsulated { .. } => 16,
        Reason::RemoteAway { .. } => 17,
        Reason::Unsigned { .. } => 18,
        Reason::WrongSignature { .. } => 19,
        Reason::VerificationOff { .. } => 20,
        Reason::NoKernel { .. } => 21,
        Reason::NoImageInfo { .. } => 22,
        Reason::NoStage { .. } => 23,
        Reason::NoAgent { .. } => 24,
        Reason::WrongArchitecture { .. } => 25,
        Reason::VersionMismatch { .. } => 26,
        Reason::Downgrade { .. } => 27,
        Reason::OlderImage { .. } => 28,
        Reason::NewerThanApiServer { .. } => 29,
        Reason::SkewTooLarge { .. } => 30,
        Reason::Damaged { .. } => 31,
        Reason::NoRoom { .. } => 32,
        Reason::LockHeld { .. } => 33,
        Reason::DeployFailed { .. } => 34,
        Reason::EtcMerge { .. } => 35,
        Reason::DeployDied { .. } => 36,
        Reason::BudgetBlocks { .. } => 37,
        Reason::DrainDeadline { .. } => 38,
        Reason::DrainRefused { .. } => 39,
        Reason::ApiAway { .. } => 40,
        Reason::Withdrawn => 41,
        Reason::SnapshotFailed { .. } => 42,
        Reason::ArmFailed { .. } => 43,
        Reason::TargetVanished { .. } => 44,
        Reason::RebootRefused { .. } => 45,
        Reason::StageRefused { .. } => 46,
        Reason::NoVerdict { .. } => 47,
        Reason::Unhealthy { .. } => 48,
        Reason::KubeadmFailed { .. } => 49,
        Reason::UserCheck { .. } => 50,
        Reason::ApiAwayInTrial { .. } => 51,
        Reason::NoApiFromNewSystem => 52,
        Reason::UnguardedBoot => 53,
        Reason::RecordNewer { .. } => 54,
        Reason::RecordDamaged { .. } => 55,
        Reason::RecordUnwritten { .. } => 56,
        Reason::MachineUnseen { .. } => 57,
        Reason::UnknownSystem { .. } => 58,
        Reason::ForeignDefault { .. } => 59,
        Reason::OptedOut { .. } => 60,
        Reason::WindowClosed { .. } => 61,
        Reason::Soaking { .. } => 62,
        Reason::HookFailed { .. } => 63,
        Reason::Unheard => 64,
    }
}
