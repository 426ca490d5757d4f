//! What the agent does in a trial.

use anyhow::Result;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::scene::Scene;
use upgrade::observe::Check;

#[tokio::test]
async fn a_kubeadm_that_succeeds_in_the_trial_is_run_once() -> Result<()> {
    let mut scene = Scene::new("kubeadm").await?;
    let not_yet = Check::Fail("not yet".to_owned());
    scene.machine.set_local(|local| local.kubeadm = not_yet);
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    assert_eq!(scene.machine.times("Kubeadm"), 1);
    Ok(())
}
