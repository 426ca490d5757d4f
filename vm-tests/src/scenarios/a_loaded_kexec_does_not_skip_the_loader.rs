//! A kernel is loaded for kexec, so that `systemctl reboot` boots the old system and skips the boot
//! loader. The agent's reboot still goes through GRUB, whose one-shot is the trial.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-loaded-kexec-does-not-skip-the-loader",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Loads the only installed system, from the only menu entry. Its command line shows that it booted
/// by kexec. Debian's kexec-tools have loaded no kernel automatically since 2.0.27, but a person
/// who runs `kexec-load-kernel` gets this state.
const LOAD: &str = r#"
path() { awk -v key="$1" '$1 == key { print "/boot" $2 }' /boot/loader/entries/*.conf; }
kexec --load "$(path linux)" --initrd="$(path initrd)" --append="$(cat /proc/cmdline) rig.kexec" &&
  grep -q 1 /sys/kernel/kexec_loaded"#;
/// What a person types. systemctl asks logind for kexec if a kernel is loaded (systemd's
/// src/shared/logind-util.h).
const REBOOT: &str = "systemctl --no-block reboot";
const ARGUMENTS: &str = "cat /proc/cmdline";
/// Reads whether the kernel is still loaded when only the reboot is left.
const LOADED_WHEN_ARMED: &str = "until grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.1; done; cat /sys/kernel/kexec_loaded";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    a_person_comes_past_the_loader(rig, &before).await?;

    let before = rig.before().await?;
    rig.guest.run(LOAD).await?;
    rig.ask(&image).await?;
    let loaded = rig.guest.run_within(LOADED_WHEN_ARMED, UPGRADE).await?;
    ensure!(
        loaded == "1",
        "no kernel was loaded any more when it was armed: {loaded:?}"
    );
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    let arguments = rig.guest.run(ARGUMENTS).await?;
    ensure!(
        arguments.contains(names::TRIAL_ARGUMENT) && !arguments.contains("rig.kexec"),
        "it did not come through GRUB: {arguments}"
    );
    Ok(())
}

/// Proves that a plain reboot skips the loader. Without this, a trial through GRUB proves nothing.
async fn a_person_comes_past_the_loader(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.guest.run(LOAD).await?;
    rig.guest.run(REBOOT).await?;
    rig.wait_boot(Some(&before.boot)).await?;
    let arguments = rig.guest.run(ARGUMENTS).await?;
    ensure!(
        arguments.contains("rig.kexec"),
        "`systemctl reboot` did not boot what was loaded: {arguments}"
    );
    rig.expect_old_system(before).await
}
