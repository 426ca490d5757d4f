//! A run of the model, and what it prints.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stateright::report::{ReportData, ReportDiscovery, Reporter};
use stateright::{Checker, HasDiscoveries, Model};

use crate::way::{self, Wrong};

pub use crate::chain::Chain;

/// The results of an exploration.
pub struct Explored {
    /// Distinct states.
    pub states: usize,
    /// The longest path to a state, in steps.
    pub depth: usize,
    /// The duration.
    pub took: Duration,
    /// The first error, with the path to it.
    pub wrong: Option<Wrong>,
}

impl Explored {
    /// The last line that a run prints.
    #[must_use]
    pub fn line(&self, name: &str) -> String {
        format!(
            "{name}: {} distinct states, {} steps deep, {:.1} s",
            self.states,
            self.depth,
            self.took.as_secs_f32()
        )
    }
}

/// Explores everything, on both processors, shortest paths first.
#[must_use]
pub fn explore(chain: Chain) -> Explored {
    judged(Instant::now(), begin(chain).join())
}

/// Does the same, and reports its progress every few seconds.
pub fn explore_aloud(chain: Chain, say: &mut (dyn FnMut(String) + Send)) -> Explored {
    let begun = Instant::now();
    let mut aloud = Aloud { said: begun, say };
    judged(begun, begin(chain).join_and_report(&mut aloud))
}

fn begin(chain: Chain) -> impl Checker<Chain> + Send + Sync {
    chain
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
}

fn judged(begun: Instant, checker: impl Checker<Chain>) -> Explored {
    let wrong = checker
        .discoveries()
        .into_values()
        .next()
        .map(|path| way::tell(checker.model(), path));
    Explored {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        took: begun.elapsed(),
        wrong,
    }
}

/// The interval between two progress lines.
const EVERY: Duration = Duration::from_secs(10);

struct Aloud<'a> {
    said: Instant,
    say: &'a mut (dyn FnMut(String) + Send),
}

impl Reporter<Chain> for Aloud<'_> {
    fn report_checking(&mut self, data: ReportData) {
        if self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            let (states, depth) = (data.unique_states, data.max_depth);
            let seconds = data.duration.as_secs();
            (self.say)(format!(
                "{states} distinct states, {depth} steps deep, {seconds} s"
            ));
        }
    }

    /// The run's own last line reports them.
    fn report_discoveries(&mut self, _: &Chain, _: BTreeMap<&'static str, ReportDiscovery<Chain>>) {
    }
}
