//! P7: writes to the Node during one upgrade of an empty node, without Events.

use anyhow::Result;
use careen_tests::count::Changes;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::row::Row;
use careen_tests::scene::Scene;

use super::RUNS;

/// Performs one upgrade per run.
pub async fn measure() -> Result<Row> {
    let mut counts = Vec::new();
    for run in 1..=RUNS {
        eprintln!("P7: run {run} of {RUNS}");
        let mut scene = Scene::new("bench-writes").await?;
        let changes = Changes::of(&scene.node);
        scene.node.ask_for(NEW_IMAGE).await?;
        scene.reboot().await?;
        scene.node.until_answered("Upgraded").await?;
        counts.push(changes.stop(&scene.node).await? as f64);
    }
    Ok(Row {
        name: "P7 writes to the Node, an upgrade",
        runs: counts,
        floor: "4: InProgress, cordon, uncordon, Upgraded".to_owned(),
        target: Some(12.0),
    })
}
