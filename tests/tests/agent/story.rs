//! Whole upgrades, from the annotation to the answer.

use anyhow::Result;
use careen_tests::count::Changes;
use careen_tests::machine::{Fault, NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{annotation, condition, is_cordoned};
use careen_tests::scene::Scene;
use upgrade::observe::Check;
use upgrade::report::Status;
use upgrade::{Reason, names};

#[tokio::test]
async fn an_annotated_node_upgrades_itself() -> Result<()> {
    let mut scene = Scene::new("upgrades").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(scene.machine.runs_new());
    assert_eq!(
        scene.machine.menu(),
        "ba",
        "the old one is kept behind the new"
    );
    assert!(!is_cordoned(&node));
    assert_eq!(annotation(&node, names::CORDONED_BY), "");
    assert_eq!(annotation(&node, names::FAILURE_REASON), "");
    let status: Status = serde_json::from_str(annotation(&node, names::STATUS))?;
    assert_eq!(
        (status.phase.as_str(), status.percent, status.tries),
        ("Upgraded", 100, 1)
    );
    assert_eq!(
        condition(&node).map(|(status, reason, _)| (status, reason)),
        said("False", "Upgraded")
    );
    let steps = [
        "Fetch", "Verify", "Deploy", "Snapshot", "Arm", "Reboot", "Bless", "Clean",
    ];
    assert_eq!(scene.machine.begun(), steps);
    Ok(())
}

fn said(status: &str, reason: &str) -> Option<(String, String)> {
    Some((status.to_owned(), reason.to_owned()))
}

#[tokio::test]
async fn a_bad_system_is_left_and_the_reason_stands_on_the_node() -> Result<()> {
    let mut scene = Scene::new("falls-back").await?;
    let broken = ("disk".to_owned(), Check::Broken("no /dev/sdb".to_owned()));
    scene
        .machine
        .set_local(|local| local.required = vec![broken]);
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(!scene.machine.runs_new());
    assert_eq!(scene.machine.menu(), "a", "nothing of it is left");
    assert!(!is_cordoned(&node));
    let reason = "required check disk failed: no /dev/sdb. Fix the image, the node or the check, and ask again.";
    assert_eq!(annotation(&node, names::FAILURE_REASON), reason);
    let expected = (
        "False".to_owned(),
        "UserCheck".to_owned(),
        reason.to_owned(),
    );
    assert_eq!(condition(&node), Some(expected));
    Ok(())
}

#[tokio::test]
async fn status_shows_the_revert_obstacle_beside_the_revert_reason() -> Result<()> {
    let mut scene = Scene::new("held-back").await?;
    let broken = ("disk".to_owned(), Check::Broken("no /dev/sdb".to_owned()));
    scene
        .machine
        .set_local(|local| local.required = vec![broken]);
    let locked = Reason::LockHeld {
        holder: "somebody".to_owned(),
        seconds: 60,
    };
    scene.machine.fault("Undo", Some(Fault::Fails(locked)));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.reboot().await?;
    let both = |node: &_| {
        let status = serde_json::from_str::<Status>(annotation(node, names::STATUS));
        status.is_ok_and(|status| {
            let cause = status.reverts_for.map(|cause| cause.code);
            let codes = (status.code.as_deref(), cause.as_deref());
            codes == (Some("LockHeld"), Some("UserCheck"))
        })
    };
    scene.node.until("both reasons", &both).await?;
    scene.machine.fault("Undo", None);
    let node = scene.node.until_answered("Failed").await?;
    let status: Status = serde_json::from_str(annotation(&node, names::STATUS))?;
    assert_eq!(status.code.as_deref(), Some("UserCheck"));
    assert_eq!(status.reverts_for, None, "it is back");
    Ok(())
}

#[tokio::test]
async fn an_upgrade_costs_at_most_twelve_writes() -> Result<()> {
    let mut scene = Scene::new("writes").await?;
    let changes = Changes::of(&scene.node);
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    let by_agent = changes.stop(&scene.node).await?;
    assert!(by_agent <= 12, "{by_agent} writes");
    Ok(())
}

#[tokio::test]
async fn an_image_that_runs_already_is_answered_at_once() -> Result<()> {
    let scene = Scene::new("same").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    assert!(scene.machine.begun().is_empty());
    Ok(())
}

#[tokio::test]
async fn every_turn_of_the_story_is_an_event_with_a_stable_reason() -> Result<()> {
    let mut scene = Scene::new("events").await?;
    let broken = ("disk".to_owned(), Check::Broken("gone".to_owned()));
    scene
        .machine
        .set_local(|local| local.required = vec![broken]);
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.reboot().await?;
    scene.node.until_answered("Failed").await?;
    let events = scene.node.until_event("UserCheck").await?;
    let first = events
        .first()
        .map(|event| event.reason.clone().unwrap_or_default());
    assert_eq!(first.as_deref(), Some("Accepted"));
    let last = events
        .last()
        .map(|event| (event.type_.clone(), event.note.clone()));
    let note =
        "required check disk failed: gone. Fix the image, the node or the check, and ask again."
            .to_owned();
    assert_eq!(last, Some((Some("Warning".to_owned()), Some(note))));
    Ok(())
}
