//! The power is cut in the trial, after the first write of its kubeadm. The old system is Ready
//! with its own configuration, nothing is judged bad, and the second trial succeeds.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-in-trial",
    core: true,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Ends when kubeadm has written something. Fails if kubeadm ends before that was seen.
const WROTE: &str = "until pgrep -x kubeadm >/dev/null; do sleep 0.05; done; touch /run/kubeadm-began
until find /etc/kubernetes /var/lib/kubelet -xdev -newer /run/kubeadm-began 2>/dev/null | grep -m 1 .; do
  pgrep -x kubeadm >/dev/null || exit 1
done";

/// The files that kubeadm writes for the kubelet.
const CONFIGURATION: &str =
    "sha256sum /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let configuration = rig.guest.run(CONFIGURATION).await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_guest(WROTE).await?;
    rig.cut_power()?;
    rig.progress
        .step("the power goes: kubeadm has begun to write");
    rig.power_on().await?;
    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the old system did not come back by itself"
    );
    rig.wait_guest("until systemctl -q is-active kubelet; do sleep 0.1; done")
        .await?;
    let found = rig.guest.run(CONFIGURATION).await?;
    ensure!(
        found == configuration,
        "the old kubelet starts on what the new kubeadm wrote: {found}, where there was {configuration}"
    );
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        view.status.is_some_and(|status| status.tries == 2),
        "the lost trial was not counted"
    );
    Ok(())
}
