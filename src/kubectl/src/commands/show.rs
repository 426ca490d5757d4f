//! Showing nodes that are watched: a table that moves on a terminal; elsewhere a line for each turn, or an object for each
//! change.

use std::collections::BTreeMap;

use crate::cli::Format;
use crate::console::Console;
use crate::expected::Expected;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::render::report;
use crate::render::status::{Around, screenful, state};
use crate::span;
use crate::view::NodeView;

/// What was shown last.
pub struct Shown {
    expected: Expected,
    format: Option<Format>,
    quiet: bool,
    table: String,
    lines: BTreeMap<String, String>,
}

impl Shown {
    /// Nothing yet.
    pub fn new(expected: Expected, format: Option<Format>) -> Self {
        Self {
            expected,
            format,
            quiet: false,
            table: String::new(),
            lines: BTreeMap::new(),
        }
    }

    /// And nothing ever.
    pub fn nothing() -> Self {
        Self {
            quiet: true,
            ..Self::new(Expected::default(), None)
        }
    }

    /// Shows what has changed.
    pub fn show(&mut self, console: &mut Console, fleet: &Fleet) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let now = span::seconds(console.now());
        match self.format {
            Some(Format::Json | Format::Yaml) => self.objects(console, fleet, now),
            None | Some(Format::Wide) if console.is_live() => self.table(console, fleet, now),
            None | Some(Format::Wide) => self.turns(console, fleet),
        }
    }

    fn table(&mut self, console: &mut Console, fleet: &Fleet, now: u64) -> Result<(), Failure> {
        let wide = self.format == Some(Format::Wide);
        let around = Around {
            now,
            expected: &self.expected,
            wide,
            look: console.look,
        };
        let table = screenful(&fleet.nodes(), around);
        if table == self.table {
            return Ok(());
        }
        console.draw(&table)?;
        self.table = table;
        Ok(())
    }

    /// A line when a node comes to another phase or says another reason: percent alone would fill a log.
    fn turns(&mut self, console: &mut Console, fleet: &Fleet) -> Result<(), Failure> {
        for node in fleet.nodes() {
            self.changed(console, &node.name, turn(node))?;
        }
        Ok(())
    }

    /// One object on a line of its own, also where YAML is asked for: a stream of YAML documents has JSON as a part.
    fn objects(&mut self, console: &mut Console, fleet: &Fleet, now: u64) -> Result<(), Failure> {
        for node in fleet.nodes() {
            let mut report = report::of(node, now, &self.expected);
            // It changes with every second; whoever reads a stream has a clock.
            report.elapsed_seconds = None;
            let object = serde_json::to_string(&report).map_err(std::io::Error::from)?;
            self.changed(console, &node.name, object)?;
        }
        Ok(())
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

fn turn(node: &NodeView) -> String {
    let state = state(node).text;
    match node.reason() {
        Some(reason) => format!("{}: {state}: {reason}", node.name),
        None => format!("{}: {state}", node.name),
    }
}
