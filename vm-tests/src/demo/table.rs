//! The costs of the demo: seconds per phase, cordoned, NotReady.

use std::time::{Duration, Instant};

use rig::node::{Seen, View};

use super::act::Act;

/// Prints one column per act.
pub fn print(acts: &[Act]) {
    let phases = phases(acts);
    let row = |name: &str, value: &dyn Fn(&Act) -> Duration| {
        let cells: Vec<String> = acts
            .iter()
            .map(|act| format!("{:>10.1}", value(act).as_secs_f64()))
            .collect();
        println!("{name:<24}{}", cells.join("  "));
    };
    let titles: Vec<String> = acts
        .iter()
        .map(|act| format!("{:>10}", act.title))
        .collect();
    println!("{:<24}{}", "seconds", titles.join("  "));
    for phase in &phases {
        row(&format!("after {phase}"), &|act| {
            act.time(|view| view.phase() == phase)
        });
    }
    row("from request to answer", &|act| act.ended - act.begun);
    row("cordoned", &|act| act.time(|view| !view.schedulable));
    row("NotReady", &|act| act.time(|view| !view.ready));
}

/// Every phase of any act, in the order of first sight. Final phases take no time.
fn phases(acts: &[Act]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for seen in acts.iter().flat_map(|act| &act.seen) {
        let phase = seen.view.phase();
        let end = matches!(phase, "" | "Upgraded" | "Failed" | "Halted" | "Refused");
        if !end && !found.iter().any(|known| known == phase) {
            found.push(phase.to_owned());
        }
    }
    found
}

impl Act {
    /// How long the Node matched `like` since the request. Its earlier state does not count.
    fn time(&self, like: impl Fn(&View) -> bool) -> Duration {
        let ends = self
            .seen
            .iter()
            .skip(1)
            .map(|seen| seen.at)
            .chain([self.end()]);
        let spans = self
            .seen
            .iter()
            .zip(ends)
            .filter(|(seen, _)| like(&seen.view));
        spans.map(|(seen, end)| end - seen.at).sum()
    }

    fn end(&self) -> Instant {
        self.seen
            .last()
            .map_or(self.ended, |seen: &Seen| seen.at.max(self.ended))
    }
}
