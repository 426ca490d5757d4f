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
        Reason::BranchNotAllowed {
            found: "branch \"debug/x\"".into(),
            allowed: "branches = [\"site/*\"]".into(),
        },
        Reason::UnknownRemote {
            remote: "theirs".into(),
        },
        Reason::RememberedBad {
            digest: "bbbb".into(),
            before: x(),
        },
        Reason::NothingKept,
        Reason::RollbackOff,
        Reason::ControlPlane { sign: x() },
        Reason::NoWatchdog {
            found: "none".into(),
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
            by: None,
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
        Reason::ServesLess {
            missing: x(),
            image: true,
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
        Reason::BranchNotAllowed { .. } => 4,
        Reason::UnknownRemote { .. } => 5,
        Reason::RememberedBad { .. } => 6,
        Reason::NothingKept => 7,
        Reason::RollbackOff => 8,
        Reason::ControlPlane { .. } => 9,
        Reason::NoWatchdog { .. } => 10,
        Reason::StateOwed { .. } => 11,
        Reason::CheckUntrusted { .. } => 12,
        Reason::Paused { .. } => 13,
        Reason::Busy { .. } => 14,
        Reason::NoSuchRef { .. } => 15,
        Reason::NoSuchCommit { .. } => 16,
        Reason::NoSuchImage { .. } => 17,
        Reason::NotEncapsulated { .. } => 18,
        Reason::RemoteAway { .. } => 19,
        Reason::Unsigned { .. } => 20,
        Reason::WrongSignature { .. } => 21,
        Reason::VerificationOff { .. } => 22,
        Reason::NoKernel { .. } => 23,
        Reason::NoImageInfo { .. } => 24,
        Reason::NoStage { .. } => 25,
        Reason::NoAgent { .. } => 26,
        Reason::WrongArchitecture { .. } => 27,
        Reason::VersionMismatch { .. } => 28,
        Reason::Downgrade { .. } => 29,
        Reason::OlderImage { .. } => 30,
        Reason::NewerThanApiServer { .. } => 31,
        Reason::SkewTooLarge { .. } => 32,
        Reason::Damaged { .. } => 33,
        Reason::NoRoom { .. } => 34,
        Reason::LockHeld { .. } => 35,
        Reason::DeployFailed { .. } => 36,
        Reason::EtcMerge { .. } => 37,
        Reason::DeployDied { .. } => 38,
        Reason::BudgetBlocks { .. } => 39,
        Reason::DrainDeadline { .. } => 40,
        Reason::DrainRefused { .. } => 41,
        Reason::ApiAway { .. } => 42,
        Reason::Withdrawn => 43,
        Reason::SnapshotFailed { .. } => 44,
        Reason::ArmFailed { .. } => 45,
        Reason::TargetVanished { .. } => 46,
        Reason::RebootRefused { .. } => 47,
        Reason::StageRefused { .. } => 48,
        Reason::NoVerdict { .. } => 49,
        Reason::Unhealthy { .. } => 50,
        Reason::ServesLess { .. } => 51,
        Reason::KubeadmFailed { .. } => 52,
        Reason::UserCheck { .. } => 53,
        Reason::ApiAwayInTrial { .. } => 54,
        Reason::NoApiFromNewSystem => 55,
        Reason::UnguardedBoot => 56,
        Reason::RecordNewer { .. } => 57,
        Reason::RecordDamaged { .. } => 58,
        Reason::RecordUnwritten { .. } => 59,
        Reason::MachineUnseen { .. } => 60,
        Reason::UnknownSystem { .. } => 61,
        Reason::ForeignDefault { .. } => 62,
        Reason::OptedOut { .. } => 63,
        Reason::WindowClosed { .. } => 64,
        Reason::Soaking { .. } => 65,
        Reason::HookFailed { .. } => 66,
        Reason::Unheard => 67,
    }
}
