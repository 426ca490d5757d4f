//! The decisions as tables: what is remembered and seen, what follows.
#![allow(clippy::unwrap_used, clippy::panic)]

mod joining;
mod releasing;
#[path = "../scene/mod.rs"]
mod scene;
mod status;

use life::{Act, Decision, Observation, Reason, Record, decide};

fn look(record: Record, seen: &Observation) -> Decision {
    decide(&Ok(record), seen)
}

/// The name of the stage that a decision leads to, and its act.
fn short(decision: &Decision, before: &Record) -> (String, String) {
    let record = decision.record.as_ref().unwrap_or(before);
    let stage = record.stay.as_ref().map_or("none".to_owned(), |stay| {
        let stage = serde_json::to_value(&stay.stage).unwrap();
        let failed = stay.failed.as_ref().map_or("", Reason::code);
        format!("{}{failed}", stage["name"].as_str().unwrap())
    });
    let act = match &decision.act {
        Act::Wait => "wait",
        Act::Look => "look",
        Act::Do(step) => step.name(),
    };
    (stage, act.to_owned())
}

fn row(name: &str, record: Record, seen: Observation, stage: &str, act: &str) {
    let decision = look(record.clone(), &seen);
    let found = short(&decision, &record);
    assert_eq!(found, (stage.to_owned(), act.to_owned()), "{name}");
    let changed = decision
        .record
        .as_ref()
        .is_some_and(|next| next.generation == record.generation + 1);
    assert_eq!(decision.record.is_some(), changed, "{name}: generation");
}
