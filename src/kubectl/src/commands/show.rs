//! Shows watched nodes: a live table on a terminal; elsewhere a line for each step, or an object
//! for each change.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cli::Format;
use crate::console::Console;
use crate::duration;
use crate::expected::Expected;
use crate::failure::Failure;
use crate::fleet::{Fleet, News};
use crate::render::report::{self, NodeReport};
use crate::render::status::{Around, screenful, state};
use crate::standing::Standing;
use crate::unaccepted::unaccepted;
use crate::view::NodeView;

/// The minimum interval between redraws of a table for changes of single nodes.
const MOMENT: Duration = Duration::from_millis(100);

/// What was last shown.
pub struct Shown {
    expected: Expected,
    format: Option<Format>,
    quiet: bool,
    table: String,
    drawn: Option<Instant>,
    lines: BTreeMap<String, String>,
}

impl Shown {
    /// An empty display.
    pub fn new(expected: Expected, format: Option<Format>) -> Self {
        Self {
            expected,
            format,
            quiet: false,
            table: String::new(),
            drawn: None,
            lines: BTreeMap::new(),
        }
    }

    /// A display that never shows anything.
    pub fn nothing() -> Self {
        Self {
            quiet: true,
            ..Self::new(Expected::default(), None)
        }
    }

    /// Shows the changes.
    pub fn show(
        &mut self,
        console: &mut Console,
        fleet: &Fleet,
        news: &News,
    ) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let now = duration::seconds(console.now());
        match self.format {
            None | Some(Format::Wide) if console.is_live() => self.table(console, fleet, news, now),
            _ => self.lines(console, fleet, news, now),
        }
    }

    /// Of thousands of nodes, many change at the same moment. A change that is skipped now appears
    /// within a second.
    fn table(
        &mut self,
        console: &mut Console,
        fleet: &Fleet,
        news: &News,
        now: u64,
    ) -> Result<(), Failure> {
        let lately = self.drawn.is_some_and(|at| at.elapsed() < MOMENT);
        if lately && matches!(news, News::Of(_)) {
            return Ok(());
        }
        self.drawn = Some(Instant::now());
        let wide = self.format == Some(Format::Wide);
        let around = Around {
            now,
            expected: &self.expected,
            wide,
            look: console.measure(),
        };
        let table = screenful(&fleet.nodes(), around);
        if table == self.table {
            return Ok(());
        }
        console.draw(&table)?;
        self.table = table;
        Ok(())
    }

    /// A line for each node with a change. The passing of time is no change.
    fn lines(
        &mut self,
        console: &mut Console,
        fleet: &Fleet,
        news: &News,
        now: u64,
    ) -> Result<(), Failure> {
        match news {
            News::None => Ok(()),
            News::Of(name) => self.line(console, name, fleet.get(name), now),
            News::OfAll => {
                let gone = self.lines.keys().filter(|name| fleet.get(name).is_none());
                for name in gone.cloned().collect::<Vec<_>>() {
                    self.line(console, &name, None, now)?;
                }
                for node in fleet.nodes() {
                    self.line(console, &node.name, Some(node), now)?;
                }
                Ok(())
            }
        }
    }

    fn line(
        &mut self,
        console: &mut Console,
        name: &str,
        node: Option<&NodeView>,
        now: u64,
    ) -> Result<(), Failure> {
        let Some(node) = node else {
            // Programs get the nodes that exist.
            let told = self.lines.remove(name).is_some() && !self.is_data();
            return match told {
                true => console.print(&format!("{name}: gone\n")),
                false => Ok(()),
            };
        };
        let line = match self.is_data() {
            true => object(node, now, &self.expected)?,
            false => turn(node),
        };
        self.changed(console, name, line)
    }

    const fn is_data(&self) -> bool {
        matches!(self.format, Some(Format::Json | Format::Yaml))
    }

    fn changed(&mut self, console: &mut Console, name: &str, line: String) -> Result<(), Failure> {
        if self.lines.get(name) == Some(&line) {
            return Ok(());
        }
        let separator = if self.format == Some(Format::Yaml) {
            "---\n"
        } else {
            ""
        };
        console.print(&format!("{separator}{line}\n"))?;
        self.lines.insert(name.to_owned(), line);
        Ok(())
    }
}

/// One object per line, even for YAML: a stream of YAML documents may contain JSON.
fn object(node: &NodeView, now: u64, expected: &Expected) -> Result<String, Failure> {
    let report = NodeReport {
        // These change every second or with each report of the agent. A reader of the stream has
        // its own clock.
        elapsed_seconds: None,
        waited_seconds: None,
        remaining_seconds: None,
        heard_at: None,
        ..report::of(node, now, expected)
    };
    Ok(serde_json::to_string(&report).map_err(std::io::Error::from)?)
}

/// A line when a node reaches another phase or reports another reason. A change of only the
/// percentage would flood a log.
fn turn(node: &NodeView) -> String {
    let state = state(node).text;
    match says(node) {
        Some(says) => format!("{}: {state}: {says}", node.name),
        None => format!("{}: {state}", node.name),
    }
}

/// The message about the current request. The reason of the last one does not belong to it.
fn says(node: &NodeView) -> Option<&str> {
    match Standing::of(node) {
        Standing::Idle | Standing::Upgraded => None,
        Standing::Asked => unaccepted(node).map(|word| word.sentence.as_str()),
        Standing::Held => node.paused.as_deref(),
        Standing::Working | Standing::Failed | Standing::Refused | Standing::Halted => {
            node.reason()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Node;
    use crate::cli::Choice;
    use crate::render::Look;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};
    use upgrade::names;

    /// A node with the request `id` and an answer to request `k-1`.
    fn node(id: &str, answer: &str, mut status: Value) -> Node {
        status["id"] = json!("k-1");
        let annotations = json!({
            names::REQUEST: names::REQUEST_SCHEDULED, names::UPGRADE_ID: id,
            names::ANSWER: answer, names::STATUS: status.to_string(),
        });
        let meta = json!({ "name": "a", "annotations": annotations });
        serde_json::from_value(json!({ "metadata": meta })).unwrap()
    }

    fn trial() -> Node {
        let reached = json!([{ "phase": "Trial", "at": 100 }]);
        let status = json!({ "phase": "Trial", "percent": 60, "tries": 1, "reached": reached });
        node("k-1", "InProgress", status)
    }

    /// A display that knows of an upgrade of one minute.
    fn shown(format: Option<Format>) -> Shown {
        let past =
            json!([{ "answer": "Upgraded", "image": "x", "began": 1, "ended": 61, "tries": 1 }]);
        let meta = json!({ "name": "b", "annotations": { names::HISTORY: past.to_string() } });
        let teacher: Node = serde_json::from_value(json!({ "metadata": meta })).unwrap();
        let expected = Expected::learn([&teacher.into()]);
        assert_eq!(expected.seconds(), Some(60));
        Shown::new(expected, format)
    }

    #[test]
    fn a_stream_of_objects_does_not_tick_with_the_clock() {
        let mut fleet = Fleet::of(&Choice::All);
        let (mut console, captured) = Console::captured(Look::default(), None);
        let mut shown = shown(Some(Format::Json));
        for now in 110..130 {
            let news = fleet.take(Event::Apply(trial()));
            shown.lines(&mut console, &fleet, &news, now).unwrap();
        }
        assert_eq!(captured.out().lines().count(), 1, "{}", captured.out());
    }

    /// A terminal of this size.
    fn screen(width: usize, height: usize) -> Look {
        Look {
            width: Some(width),
            height: Some(height),
            ..Look::default()
        }
    }

    #[test]
    fn on_a_terminal_a_table_is_drawn_over_the_one_before() {
        let mut fleet = Fleet::of(&Choice::All);
        let (mut console, captured) = Console::captured(screen(100, 30), None);
        let mut shown = shown(None);
        fleet.take(Event::Apply(trial()));
        shown.show(&mut console, &fleet, &News::OfAll).unwrap();
        let first = captured.out();
        assert_eq!(first.lines().count(), 2, "{first}");
        assert!(
            first.contains("Trial") && !first.contains('\u{1b}'),
            "{first:?}"
        );
        let upgraded = json!({ "phase": "Upgraded", "percent": 100, "tries": 1, "reached": [] });
        fleet.take(Event::Apply(node("k-1", "Upgraded", upgraded)));
        shown.show(&mut console, &fleet, &News::OfAll).unwrap();
        let drawn = captured.out();
        let (_, second) = drawn.split_at(first.len());
        assert!(second.starts_with("\u{1b}[2A\r\u{1b}[JNODE"), "{second:?}");
        assert!(
            second.contains("Upgraded") && !second.contains("Trial"),
            "{second:?}"
        );
        shown.show(&mut console, &fleet, &News::OfAll).unwrap();
        assert_eq!(captured.out(), drawn, "nothing has changed");
    }

    #[test]
    fn redraw_fits_a_narrowed_terminal_and_covers_the_old_table() {
        let mut fleet = Fleet::of(&Choice::All);
        let (mut console, captured) = Console::captured(screen(120, 30), None);
        let mut shown = shown(None);
        fleet.take(Event::Apply(trial()));
        shown
            .table(&mut console, &fleet, &News::OfAll, 110)
            .unwrap();
        let first = captured.out();
        captured.resize(40, 30);
        shown
            .table(&mut console, &fleet, &News::OfAll, 110)
            .unwrap();
        let rows = first.lines().map(|line| line.chars().count().div_ceil(40));
        let rows: usize = rows.sum();
        assert!(rows > 2, "too few rows: {first}");
        let drawn = captured.out();
        let (_, second) = drawn.split_at(first.len());
        let up = format!("\u{1b}[{rows}A\r\u{1b}[J");
        let table = second.strip_prefix(&up).unwrap();
        assert!(
            table.lines().all(|line| line.chars().count() <= 40),
            "{table}"
        );
    }

    #[test]
    fn table_shows_only_the_nodes_that_fit_a_lowered_terminal() {
        let mut fleet = Fleet::of(&Choice::All);
        let (mut console, captured) = Console::captured(screen(100, 30), None);
        let mut shown = shown(None);
        for name in ["a", "b", "c", "d"] {
            let mut one = trial();
            one.metadata.name = Some(name.to_owned());
            fleet.take(Event::Apply(one));
        }
        captured.resize(100, 5);
        shown
            .table(&mut console, &fleet, &News::OfAll, 110)
            .unwrap();
        assert!(
            captured.out().contains("… and 2 more"),
            "{}",
            captured.out()
        );
    }

    #[test]
    fn unanswered_request_does_not_show_the_last_failure_reason() {
        let status = json!({ "phase": "Failed", "percent": 100, "tries": 1, "reached": [], "code": "x", "reason": "no disk" });
        let failed = |id| NodeView::from(node(id, "Failed", status.clone()));
        assert_eq!(turn(&failed("k-1")), "a: Failed: no disk");
        assert_eq!(turn(&failed("k-2")), "a: Asked");
    }

    #[test]
    fn a_node_that_goes_is_told_and_told_of_again_when_it_is_back() {
        let mut fleet = Fleet::of(&Choice::All);
        let (mut console, captured) = Console::captured(Look::default(), None);
        let mut shown = shown(None);
        let events = [
            Event::Apply(trial()),
            Event::Delete(trial()),
            Event::Apply(trial()),
            Event::InitDone,
        ];
        for event in events {
            let news = fleet.take(event);
            shown.lines(&mut console, &fleet, &news, 110).unwrap();
        }
        assert_eq!(captured.out(), "a: Trial\na: gone\na: Trial\na: gone\n");
    }
}
