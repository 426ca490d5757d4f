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
        Reason::KubernetesNotShared { detail: x() },
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
        Reason::NodeRenamed {
            was: "n1".into(),
            is: "n2".into(),
        },
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
        Reason::KubernetesNotShared { .. } => 10,
        Reason::NoWatchdog { .. } => 11,
        Reason::StateOwed { .. } => 12,
        Reason::CheckUntrusted { .. } => 13,
        Reason::KubeletSettings { .. } => 14,
        Reason::BadPatches { .. } => 15,
        Reason::OldCgroups { .. } => 16,
        Reason::UnhealthyBefore { .. } => 17,
        Reason::LocalChanges { .. } => 18,
        Reason::Paused { .. } => 19,
        Reason::Busy { .. } => 20,
        Reason::NoSuchRef { .. } => 21,
        Reason::NoSuchCommit { .. } => 22,
        Reason::NoSuchImage { .. } => 23,
        Reason::NotEncapsulated { .. } => 24,
        Reason::RemoteAway { .. } => 25,
        Reason::Unsigned { .. } => 26,
        Reason::WrongSignature { .. } => 27,
        Reason::VerificationOff { .. } => 28,
        Reason::NoKernel { .. } => 29,
        Reason::NoImageInfo { .. } => 30,
        Reason::NoStage { .. } => 31,
        Reason::NoAgent { .. } => 32,
        Reason::WrongArchitecture { .. } => 33,
        Reason::VersionMismatch { .. } => 34,
        Reason::Downgrade { .. } => 35,
        Reason::OlderImage { .. } => 36,
        Reason::BranchChange { .. } => 37,
        Reason::NewerThanApiServer { .. } => 38,
        Reason::SkewTooLarge { .. } => 39,
        Reason::Damaged { .. } => 40,
        Reason::NoRoom { .. } => 41,
        Reason::LockHeld { .. } => 42,
        Reason::DeployFailed { .. } => 43,
        Reason::EtcMerge { .. } => 44,
        Reason::AccountTaken { .. } => 45,
        Reason::DeployDied { .. } => 46,
        Reason::BudgetBlocks { .. } => 47,
        Reason::DrainDeadline { .. } => 48,
        Reason::DrainRefused { .. } => 49,
        Reason::NodeRenamed { .. } => 50,
        Reason::ApiAway { .. } => 51,
        Reason::ApiRefused { .. } => 52,
        Reason::Withdrawn { .. } => 53,
        Reason::SnapshotFailed { .. } => 54,
        Reason::ArmFailed { .. } => 55,
        Reason::TargetVanished { .. } => 56,
        Reason::RebootRefused { .. } => 57,
        Reason::StageRefused { .. } => 58,
        Reason::NoVerdict { .. } => 59,
        Reason::Unhealthy { .. } => 60,
        Reason::ServesLess { .. } => 61,
        Reason::KubeadmFailed { .. } => 62,
        Reason::UserCheck { .. } => 63,
        Reason::ApiAwayInTrial { .. } => 64,
        Reason::NoApiFromNewSystem { .. } => 65,
        Reason::UnguardedBoot => 66,
        Reason::RecordNewer { .. } => 67,
        Reason::RecordDamaged { .. } => 68,
        Reason::RecordUnwritten { .. } => 69,
        Reason::MachineUnseen { .. } => 70,
        Reason::UnknownSystem { .. } => 71,
        Reason::ForeignDefault { .. } => 72,
        Reason::OptedOut { .. } => 73,
        Reason::WindowClosed { .. } => 74,
        Reason::Soaking { .. } => 75,
        Reason::HookFailed { .. } => 76,
        Reason::Unheard => 77,
    }
}
