//! One of each reason, in the order of the code.

use upgrade::{Cause, Reason, Version};

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
            wrong: Some("it has a blank at position 2".into()),
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
        Reason::KubeletSettings { detail: x() },
        Reason::BadPatches { detail: x() },
        Reason::Paused {
            why: "an audit".into(),
            by: None,
            advice: None,
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
        Reason::BranchChange {
            commit: "bbbb".into(),
            branch: "site/stable".into(),
            running: "site/edge".into(),
            policy: "newer".into(),
            seconds: Some(14 * 86_400),
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
        Reason::AccountTaken { detail: x() },
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
        Reason::ApiRefused {
            request: "list this node's pods".into(),
            detail: x(),
        },
        Reason::Withdrawn { replaced_by: None },
        Reason::SnapshotFailed { detail: x() },
        Reason::ArmFailed { detail: x() },
        Reason::TargetVanished {
            commit: "bbbb".into(),
        },
        Reason::RebootRefused { detail: x() },
        Reason::StageRefused {
            detail: x(),
            cause: Cause::Image,
        },
        Reason::NoVerdict {
            commit: "bbbb".into(),
            tries: 2,
            seen: x(),
            cause: Cause::Image,
        },
        Reason::Unhealthy {
            check: x(),
            detail: x(),
            seconds: 2,
            cause: Cause::Image,
        },
        Reason::ServesLess {
            missing: x(),
            cause: Cause::Image,
            seconds: 2,
        },
        Reason::KubeadmFailed { detail: x() },
        Reason::UserCheck {
            name: x(),
            detail: x(),
            cause: Cause::Image,
        },
        Reason::ApiAwayInTrial {
            seconds: 2,
            seen: x(),
        },
        Reason::NoApiFromNewSystem { seen: x() },
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
        Reason::KubeletSettings { .. } => 13,
        Reason::BadPatches { .. } => 14,
        Reason::Paused { .. } => 15,
        Reason::Busy { .. } => 16,
        Reason::NoSuchRef { .. } => 17,
        Reason::NoSuchCommit { .. } => 18,
        Reason::NoSuchImage { .. } => 19,
        Reason::NotEncapsulated { .. } => 20,
        Reason::RemoteAway { .. } => 21,
        Reason::Unsigned { .. } => 22,
        Reason::WrongSignature { .. } => 23,
        Reason::VerificationOff { .. } => 24,
        Reason::NoKernel { .. } => 25,
        Reason::NoImageInfo { .. } => 26,
        Reason::NoStage { .. } => 27,
        Reason::NoAgent { .. } => 28,
        Reason::WrongArchitecture { .. } => 29,
        Reason::VersionMismatch { .. } => 30,
        Reason::Downgrade { .. } => 31,
        Reason::OlderImage { .. } => 32,
        Reason::BranchChange { .. } => 33,
        Reason::NewerThanApiServer { .. } => 34,
        Reason::SkewTooLarge { .. } => 35,
        Reason::Damaged { .. } => 36,
        Reason::NoRoom { .. } => 37,
        Reason::LockHeld { .. } => 38,
        Reason::DeployFailed { .. } => 39,
        Reason::EtcMerge { .. } => 40,
        Reason::AccountTaken { .. } => 41,
        Reason::DeployDied { .. } => 42,
        Reason::BudgetBlocks { .. } => 43,
        Reason::DrainDeadline { .. } => 44,
        Reason::DrainRefused { .. } => 45,
        Reason::ApiAway { .. } => 46,
        Reason::ApiRefused { .. } => 47,
        Reason::Withdrawn { .. } => 48,
        Reason::SnapshotFailed { .. } => 49,
        Reason::ArmFailed { .. } => 50,
        Reason::TargetVanished { .. } => 51,
        Reason::RebootRefused { .. } => 52,
        Reason::StageRefused { .. } => 53,
        Reason::NoVerdict { .. } => 54,
        Reason::Unhealthy { .. } => 55,
        Reason::ServesLess { .. } => 56,
        Reason::KubeadmFailed { .. } => 57,
        Reason::UserCheck { .. } => 58,
        Reason::ApiAwayInTrial { .. } => 59,
        Reason::NoApiFromNewSystem { .. } => 60,
        Reason::UnguardedBoot => 61,
        Reason::RecordNewer { .. } => 62,
        Reason::RecordDamaged { .. } => 63,
        Reason::RecordUnwritten { .. } => 64,
        Reason::MachineUnseen { .. } => 65,
        Reason::UnknownSystem { .. } => 66,
        Reason::ForeignDefault { .. } => 67,
        Reason::OptedOut { .. } => 68,
        Reason::WindowClosed { .. } => 69,
        Reason::Soaking { .. } => 70,
        Reason::HookFailed { .. } => 71,
        Reason::Unheard => 72,
    }
}
