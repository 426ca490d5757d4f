//! A kernel is loaded for kexec, so that `systemctl reboot` boots the old system past the loader. The agent's reboot goes through GRUB all the same,
//! whose one-shot is the trial.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-loaded-kexec-does-not-skip-the-loader",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The one system that is installed, by the only entry of the menu; what it boots with says that it came this way. Debian's kexec-tools have
/// loaded none by themselves since 2.0.27, and whoever calls `kexec-load-kernel` has this.
const LOAD: &str = r#"
path() { awk -v key="$1" '$1 == key { print "/boot" $2 }' /boot/loader/entries/*.conf; }
kexec --load "$(path linux)" --initrd="$(path initrd)" --append="$(cat /proc/cmdline) rig.kexec" &&
  grep -q 1 /sys/kernel/kexec_loaded"#;
/// As a person types it: systemctl asks logind for kexec where a kernel is loaded (systemd's src/shared/logind-util.h).
const REBOOT: &str = "systemctl --no-block reboot";
const ARGUMENTS: &str = "cat /proc/cmdline";
/// Whether it is still loaded when nothing but the reboot is left to be done.
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

/// Else nothing would be shown by a trial that came through GRUB.
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
