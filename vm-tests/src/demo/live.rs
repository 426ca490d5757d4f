//! The live view: phase, current work, percent, elapsed and expected time.

use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rig::Rig;
use rig::node::View;
use testkit::ticker::{EVERY, expected, remember};
use upgrade::report::Answer;

/// The longest that any part of the demo may take.
pub const PATIENCE: Duration = Duration::from_secs(1800);

/// The expected time of a first run, on a quiet machine with two cores.
const GUESS: u64 = 210;

/// Shows the Node until it answers, and returns the answer.
///
/// # Errors
///
/// Fails when no answer comes.
pub async fn follow(rig: &mut Rig, title: &str) -> Result<String> {
    let mut line = Line::begin(title);
    loop {
        let view = rig.node.now();
        let fresh = rig.is_new_answer(&view);
        if let Some(words) = words(&view).filter(|_| fresh) {
            line.show(words);
        }
        let answer = view
            .answer
            .clone()
            .filter(|answer| fresh && answer != Answer::InProgress.as_str());
        if let Some(answer) = answer {
            line.end();
            return Ok(answer);
        }
        ensure!(
            line.has_time(),
            "no answer within {PATIENCE:?}; the Node is {view:#?}"
        );
        rig.node.changed(Duration::from_secs(1)).await;
    }
}

/// The Node's message about its upgrade; none before there is one.
pub fn words(view: &View) -> Option<String> {
    let status = view.status.as_ref()?;
    let doing = status.doing.as_deref().or(status.step.as_deref());
    let ready = if view.ready { "Ready" } else { "NotReady" };
    let cordoned = if view.schedulable { "" } else { ", cordoned" };
    Some(format!(
        "{:<9} {:>3} %  {}  [{ready}{cordoned}]",
        status.phase,
        status.percent,
        doing.unwrap_or_default()
    ))
}

/// The progress of one act. On a terminal it redraws one line; elsewhere it prints a line for each
/// change, and one every ten seconds.
pub struct Line {
    title: String,
    begun: Instant,
    expected: u64,
    last: String,
    shown: Duration,
}

impl Line {
    /// Starts the clock. The expected time is that of the last run of the same act.
    pub fn begin(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            begun: Instant::now(),
            expected: expected(title).unwrap_or(GUESS),
            last: String::new(),
            shown: Duration::ZERO,
        }
    }

    /// Whether it is still within its time.
    pub fn has_time(&self) -> bool {
        self.begun.elapsed() < PATIENCE
    }

    /// Shows the text with the time.
    pub fn show(&mut self, text: String) {
        let elapsed = self.begun.elapsed();
        let seconds = elapsed.as_secs();
        let time = format!("{seconds:>4} s of about {} s", self.expected);
        if stdout().is_terminal() {
            print!("\r\x1b[K  {time}  {text}");
            let _ = stdout().flush();
        } else if text != self.last || elapsed >= self.shown + EVERY {
            println!("  {time}  {text}");
            self.shown = elapsed;
        }
        self.last = text;
    }

    /// Ends the act.
    pub fn end(self) {
        println!();
        remember(&self.title, self.begun.elapsed());
    }
}
