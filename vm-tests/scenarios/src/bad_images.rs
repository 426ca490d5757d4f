//! Images that are tried and given up: a row each, with its policy, the code of the failure and how
//! its trial ends. The old system is back every time.

use super::prelude::*;

/// What a scenario expects of its image.
#[derive(Clone, Copy)]
struct Bad {
    /// The node's policy; an empty one leaves what the image ships.
    policy: &'static str,
    code: &'static str,
    /// Pieces of the reason on the Node.
    says: &'static [&'static str],
    /// How long the answer may take.
    limit: Duration,
    trials: Option<usize>,
    ended: Ended,
}

/// How the last trial ended.
#[derive(Clone, Copy)]
enum Ended {
    /// Not looked at.
    Anyhow,
    /// From within the new system, not before this second of its boot.
    FromWithin(u32),
    /// By a reset that nothing in the new system requested.
    FromOutside,
}

const BAD: Bad = Bad {
    policy: "",
    code: "",
    says: &[],
    limit: UPGRADE,
    trials: Some(1),
    ended: Ended::Anyhow,
};

macro_rules! row {
    (name: $name:literal, image: $image:literal, $($field:ident: $value:expr),* $(,)?) => {
        Scenario {
            name: $name,
            core: false,
            disk: DiskKind::Bios,
            images: &[$image],
            run: |rig| Box::pin(falls_back(rig, $image, Bad { $($field: $value,)* ..BAD })),
        }
    };
}

async fn falls_back(rig: &mut Rig, image: &str, bad: Bad) -> Result<()> {
    let image = rig.image(image)?;
    let before = rig.before().await?;
    if !bad.policy.is_empty() {
        rig.policy(bad.policy).await?;
    }
    rig.ask(&image).await?;
    let view = rig.expect_failed(&[bad.code], bad.limit).await?;
    rig.expect_old_system(&before).await?;
    let reason = view.reason.unwrap_or_default();
    for piece in bad.says {
        ensure!(reason.contains(piece), "no {piece:?} in {reason:?}");
    }
    let trials = rig.trials();
    ensure!(trials > 0, "there was no trial boot");
    if let Some(wanted) = bad.trials {
        ensure!(trials == wanted, "{trials} trial boots, not {wanted}");
    }
    expect_ended(rig, bad.ended)
}

fn expect_ended(rig: &Rig, ended: Ended) -> Result<()> {
    match ended {
        Ended::Anyhow => Ok(()),
        Ended::FromWithin(seconds) => rig.expect_trial_lasted(seconds),
        Ended::FromOutside => {
            let within = rig.expect_trial_lasted(0).is_ok();
            ensure!(!within, "the trial was ended from within");
            Ok(())
        }
    }
}

/// A kernel that panics reboots on its own and is tried a second time.
pub const KERNEL_PANIC: Scenario = row! {
    name: "kernel-panic-falls-back",
    image: "panic",
    code: "NoVerdict",
    trials: Some(2),
};

/// The Node is Ready, and a service of the new image does not run: its user is missing. The Node
/// names the unit and its exit status.
pub const SERVICE_DIES: Scenario = row! {
    name: "a-service-that-dies-in-the-trial-falls-back",
    image: "service-dies",
    policy: "[health]\ndeadline-seconds = 240",
    code: "ServesLess",
    says: &["unit rig-dies.service fails", "217"],
    trials: None,
};

/// The runtime names a sandbox image that cannot be pulled. The Node is Ready all the same, and no
/// pod could start.
pub const NO_PAUSE_IMAGE: Scenario = row! {
    name: "runtime-without-its-pause-image-falls-back",
    image: "no-pause",
    policy: "[health]\ndeadline-seconds = 240",
    code: "Unhealthy",
    says: &["pod sandbox", "registry.example.com/pause:9.9"],
    trials: None,
};

/// Userspace hangs before the agent can start. The deadman ends the trial a minute after the health
/// deadline. The margin of 20 s allows for the console's clock, which differs from the deadman's.
pub const USERSPACE_HANGS: Scenario = row! {
    name: "userspace-hang-falls-back",
    image: "hang",
    policy: "trials = 1\n[health]\ndeadline-seconds = 60",
    code: "NoVerdict",
    limit: UPGRADE.saturating_mul(2),
    ended: Ended::FromWithin(60 + 60 - 20),
};

/// The kubelet has another version than the image says: that of the old system. The system is
/// otherwise healthy.
pub const VERSION_LIES: Scenario = row! {
    name: "version-lies-falls-back",
    image: "version-lies",
    policy: "[health]\ndeadline-seconds = 180",
    code: "Unhealthy",
    says: &["the kubelet is v1.35."],
};

/// Nothing can run any more, including systemd and the deadman. The hardware watchdog resets the
/// machine.
pub const DEAF: Scenario = row! {
    name: "watchdog-ends-a-hang",
    image: "deaf",
    policy: "trials = 1",
    code: "NoVerdict",
    ended: Ended::FromOutside,
};
