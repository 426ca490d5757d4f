//! What a run has seen.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cut::Cut;
use crate::disk::Op;
use crate::judge::Outcome;

#[derive(Default)]
pub struct Report {
    pub cuts: usize,
    by_step: BTreeMap<&'static str, usize>,
    by_end: BTreeMap<&'static str, usize>,
    slowest: Duration,
    pub broken: Vec<String>,
}

impl Report {
    pub fn add(&mut self, cut: &Cut, step: &'static str, judged: Result<Outcome, String>) {
        self.cuts += 1;
        *self.by_step.entry(step).or_default() += 1;
        match judged {
            Ok(outcome) => {
                *self.by_end.entry(outcome.then).or_default() += 1;
                self.slowest = self.slowest.max(outcome.took);
            }
            Err(why) => self.broken.push(format!(
                "cut {} in {step}, after {} operations, {:?}: {why}",
                cut.index, cut.at, cut.fates
            )),
        }
    }

    pub fn json(&self, seed: u64, log: &[Op], looks: usize) -> Value {
        let flushes = log.iter().filter(|op| matches!(op, Op::Flush { .. }));
        let flushes = flushes.count();
        json!({
            "seed": seed,
            "cuts": self.cuts,
            "orders of writing that GRUB saw": looks,
            "flushes": flushes,
            "writes": log.len() - flushes,
            "cuts by step": self.by_step,
            "went on": self.by_end,
            "slowest recovery in ms": self.slowest.as_millis() as u64,
            "lost nodes": self.broken.len(),
            "broken promises": self.broken,
        })
    }
}
