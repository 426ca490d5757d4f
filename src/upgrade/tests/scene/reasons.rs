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
        Reason::OldCgroups {
            kubelet: version("v1.36.3"),
        },
        Reason::UnhealthyBefore {
            check: "50-storage".into(),
            detail: x(),
        },
        Reason::LocalChanges { detail: x() },
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
            inodes: false,
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
        Reason::OldCgroups { .. } => 15,
        Reason::UnhealthyBefore { .. } => 16,
        Reason::LocalChanges { .. } => 17,
        Reason::Paused { .. } => 18,
        Reason::Busy { .. } => 19,
        Reason::NoSuchRef { .. } => 20,
        Reason::NoSuchCommit { .. } => 21,
        Reason::NoSuchImage { .. } => 22,
        Reason::NotEncapsulated { .. } => 23,
        Reason::RemoteAway { .. } => 24,
        Reason::Unsigned { .. } => 25,
        Reason::WrongSignature { .. } => 26,
        Reason::VerificationOff { .. } => 27,
        Reason::NoKernel { .. } => 28,
        Reason::NoImageInfo { .. } => 29,
        Reason::NoStage { .. } => 30,
        Reason::NoAgent { .. } => 31,
        Reason::WrongArchitecture { .. } => 32,
        Reason::VersionMismatch { .. } => 33,
        Reason::Downgrade { .. } => 34,
        Reason::OlderImage { .. } => 35,
        Reason::BranchChange { .. } => 36,
        Reason::NewerThanApiServer { .. } => 37,
        Reason::SkewTooLarge { .. } => 38,
        Reason::Damaged { .. } => 39,
        Reason::NoRoom { .. } => 40,
        Reason::LockHeld { .. } => 41,
        Reason::DeployFailed { .. } => 42,
        Reason::EtcMerge { .. } => 43,
        Reason::AccountTaken { .. } => 44,
        Reason::DeployDied { .. } => 45,
        Reason::BudgetBlocks { .. } => 46,
        Reason::DrainDeadline { .. } => 47,
        Reason::DrainRefused { .. } => 48,
        Reason::ApiAway { .. } => 49,
        Reason::ApiRefused { .. } => 50,
        Reason::Withdrawn { .. } => 51,
        Reason::SnapshotFailed { .. } => 52,
        Reason::ArmFailed { .. } => 53,
        Reason::TargetVanished { .. } => 54,
        Reason::RebootRefused { .. } => 55,
        Reason::StageRefused { .. } => 56,
        Reason::NoVerdict { .. } => 57,
        Reason::Unhealthy { .. } => 58,
        Reason::ServesLess { .. } => 59,
        Reason::KubeadmFailed { .. } => 60,
        Reason::UserCheck { .. } => 61,
        Reason::ApiAwayInTrial { .. } => 62,
        Reason::NoApiFromNewSystem { .. } => 63,
        Reason::UnguardedBoot => 64,
        Reason::RecordNewer { .. } => 65,
        Reason::RecordDamaged { .. } => 66,
        Reason::RecordUnwritten { .. } => 67,
        Reason::MachineUnseen { .. } => 68,
        Reason::UnknownSystem { .. } => 69,
        Reason::ForeignDefault { .. } => 70,
        Reason::OptedOut { .. } => 71,
        Reason::WindowClosed { .. } => 72,
        Reason::Soaking { .. } => 73,
        Reason::HookFailed { .. } => 74,
        Reason::Unheard => 75,
    }
}
