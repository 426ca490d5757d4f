//! What `/metrics` shows of the hooks. Core gets every answer with status 200, so the meaning is
//! counted separately.

use std::time::Duration;

use provider::hooks::hook_of;
use provider::world::World;

use crate::scene::*;

/// Makes a sample's call, and counts it as the server does.
fn count(world: &World, sample: &Sample) {
    let reply = call(world, &sample.path, sample.request.to_string().as_bytes());
    let hook = hook_of(sample.path.split('?').next().unwrap()).unwrap();
    world.metrics.answered(hook, &reply, Duration::ZERO);
}

/// How often a hook gave this answer.
fn counted(world: &World, hook: &str, outcome: &str) -> usize {
    let labels = [format!("hook=\"{hook}\""), format!("outcome=\"{outcome}\"")];
    let text = world.metrics.text();
    let line = text.lines().find(|line| {
        line.starts_with("careen_provider_hook_replies_total{")
            && labels.iter().all(|label| line.contains(label))
    });
    let value = line
        .and_then(|line| line.rsplit_once(' '))
        .map(|(_, value)| value);
    value.map_or(0, |value| value.parse().unwrap())
}

#[tokio::test]
async fn a_hook_is_counted_by_what_its_answer_means_to_core() {
    let (world, state) = world();
    count(&world, &sample("canupdatemachine"));
    assert_eq!(counted(&world, "CanUpdateMachine", "InPlace"), 1);
    catalogue(&world, Vec::new());
    count(&world, &sample("canupdatemachine"));
    assert_eq!(counted(&world, "CanUpdateMachine", "Hold"), 1);
    count(&world, &sample("updatemachine"));
    state.away("connection refused");
    count(&world, &sample("updatemachine"));
    assert_eq!(counted(&world, "UpdateMachine", "InProgress"), 2);
    assert_eq!(counted(&world, "UpdateMachine", "Done"), 0);
    let mut broken = sample("updatemachine");
    broken.request["kind"] = "x".into();
    count(&world, &broken);
    assert_eq!(counted(&world, "UpdateMachine", "Refused"), 1);
}
