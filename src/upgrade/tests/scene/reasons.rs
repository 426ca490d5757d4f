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
        Reason::ControlPlaneUnfit {
            finding: x(),
            detail: x(),
        },
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
            detail: "no copy is intact (torn); if they are lost for good, remove them".into(),
        },
        Reason::RecordUnwritten {
            detail: "writing /sysroot/ostree/careen/record.a.new: No space left on device".into(),
        },
        Reason::MachineUnseen {
            detail: "reading /boot/loader: Input/output error".into(),
        },
        Reason::UnknownSystem { booted: x() },
        Reason::ControlNotCarried { commit: x() },
        Reason::ControlFailed {
            verb: x(),
            detail: x(),
        },
        Reason::RaiseFailed { detail: x() },
        Reason::ForeignDefault { default: x() },
        Reason::ControlPlaneHurt { detail: x() },
        Reason::OptedOut {
            by: "careen.dev/opt-out".into(),
            why: "holds the lab's only GPU".into(),
        },
        Reason::WindowClosed {
            opens: "it opens Mon 22:00 Europe/Berlin".into(),
        },
        Reason::Soaking { seconds: 600 },
        Reason::ControlPlaneWaits {
            finding: x(),
            detail: x(),
        },
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
        Reason::NoWatchdog { .. } => 12,
        Reason::StateOwed { .. } => 13,
        Reason::CheckUntrusted { .. } => 14,
        Reason::KubeletSettings { .. } => 15,
        Reason::BadPatches { .. } => 16,
        Reason::OldCgroups { .. } => 17,
        Reason::UnhealthyBefore { .. } => 18,
        Reason::LocalChanges { .. } => 19,
        Reason::Paused { .. } => 20,
        Reason::Busy { .. } => 21,
        Reason::NoSuchRef { .. } => 22,
        Reason::NoSuchCommit { .. } => 23,
        Reason::NoSuchImage { .. } => 24,
        Reason::NotEncapsulated { .. } => 25,
        Reason::RemoteAway { .. } => 26,
        Reason::Unsigned { .. } => 27,
        Reason::WrongSignature { .. } => 28,
        Reason::VerificationOff { .. } => 29,
        Reason::NoKernel { .. } => 30,
        Reason::NoImageInfo { .. } => 31,
        Reason::NoStage { .. } => 32,
        Reason::NoAgent { .. } => 33,
        Reason::WrongArchitecture { .. } => 34,
        Reason::VersionMismatch { .. } => 35,
        Reason::Downgrade { .. } => 36,
        Reason::OlderImage { .. } => 37,
        Reason::BranchChange { .. } => 38,
        Reason::NewerThanApiServer { .. } => 39,
        Reason::SkewTooLarge { .. } => 40,
        Reason::Damaged { .. } => 41,
        Reason::NoRoom { .. } => 42,
        Reason::LockHeld { .. } => 43,
        Reason::DeployFailed { .. } => 44,
        Reason::EtcMerge { .. } => 45,
        Reason::AccountTaken { .. } => 46,
        Reason::DeployDied { .. } => 47,
        Reason::BudgetBlocks { .. } => 48,
        Reason::DrainDeadline { .. } => 49,
        Reason::DrainRefused { .. } => 50,
        Reason::NodeRenamed { .. } => 51,
        Reason::ApiAway { .. } => 52,
        Reason::ApiRefused { .. } => 53,
        Reason::Withdrawn { .. } => 54,
        Reason::SnapshotFailed { .. } => 55,
        Reason::ArmFailed { .. } => 56,
        Reason::TargetVanished { .. } => 57,
        Reason::RebootRefused { .. } => 58,
        Reason::StageRefused { .. } => 59,
        Reason::NoVerdict { .. } => 60,
        Reason::Unhealthy { .. } => 61,
        Reason::ServesLess { .. } => 62,
        Reason::KubeadmFailed { .. } => 63,
        Reason::UserCheck { .. } => 64,
        Reason::ApiAwayInTrial { .. } => 65,
        Reason::NoApiFromNewSystem { .. } => 66,
        Reason::UnguardedBoot => 67,
        Reason::RecordNewer { .. } => 68,
        Reason::RecordDamaged { .. } => 69,
        Reason::RecordUnwritten { .. } => 70,
        Reason::MachineUnseen { .. } => 71,
        Reason::UnknownSystem { .. } => 72,
        Reason::ForeignDefault { .. } => 76,
        Reason::OptedOut { .. } => 78,
        Reason::WindowClosed { .. } => 79,
        Reason::Soaking { .. } => 80,
        Reason::HookFailed { .. } => 82,
        Reason::Unheard => 83,
        Reason::ControlPlaneUnfit { .. } => 11,
        Reason::ControlPlaneWaits { .. } => 81,
        Reason::ControlFailed { .. } => 74,
        Reason::RaiseFailed { .. } => 75,
        Reason::ControlPlaneHurt { .. } => 77,
        Reason::ControlNotCarried { .. } => 73,
    }
}
