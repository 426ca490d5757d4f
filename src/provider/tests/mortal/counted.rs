//! What the process counts of a finished upgrade, with a death in between.

use crate::agent::{Manner, arrives, asked};
use crate::life::Life;
use crate::scene::{NODE, Scene};

/// The value of a metric, once it is served.
fn value(life: &Life, name: &str) -> Option<f64> {
    let text = life.metrics();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("careen_provider_")?.strip_prefix(name))?;
    line.trim().parse().ok()
}

fn is_taken_up(scene: &Scene) -> bool {
    let node = scene.small.get("nodes", NODE).unwrap_or_default();
    node["metadata"]["annotations"][upgrade::names::ANSWER] == "InProgress"
}

const UPGRADED: &str = "requests_total{outcome=\"upgraded\",reason=\"\"}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upgrade_ended_in_a_downtime_is_counted_by_the_successor_only() {
    // The agent accepts the request, and finishes only when the test says so.
    let scene = Scene::new(Manner::Dawdles).await;
    scene.annotate();
    let life = scene.provider();
    scene.until("taken up", is_taken_up).await;
    drop(life);
    let (id, version) = asked(&scene.small, NODE).unwrap();
    arrives(&scene.small, NODE, (&id, &version));
    let successor = scene.provider();
    let counted = |_: &Scene| value(&successor, UPGRADED) == Some(1.0);
    scene.until("counted", counted).await;
    for bill in ["working", "waiting", "cordoned", "drained", "not_ready"] {
        let sum = value(&successor, &format!("upgrade_{bill}_seconds_sum"));
        assert_eq!(sum, Some(10.0), "{bill}");
    }
    scene.until("left alone", Scene::is_left_alone).await;
    drop(successor);
    let third = scene.provider();
    let has_looked = |_: &Scene| value(&third, "look_seconds_count") > Some(0.0);
    scene.until("looked at again", has_looked).await;
    assert_eq!(value(&third, UPGRADED), None);
    assert_eq!(value(&third, "trial_boots_total"), Some(0.0));
}
