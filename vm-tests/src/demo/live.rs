//! The live view: phase, what is being done, percent, elapsed and expected time.

use std::fs;
use std::io::{IsTerminal, Write, stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use upgrade::report::Answer;

use crate::node::View;
use crate::programs;
use crate::rig::Rig;

/// The longest that anything in the story may take.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// What is expected of a first run: a quiet machine with two cores.
const GUESS: u64 = 210;

/// Shows the Node until it answers, and gives the answer.
///
/// # Errors
/// When no answer comes.
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

/// What the Node says of its upgrade; nothing before there is one.
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

/// How one act stands: on a terminal one line that is drawn again, elsewhere a line whenever something new is said.
pub struct Line {
    title: String,
    begun: Instant,
    expected: u64,
    last: String,
}

impl Line {
    /// Starts its clock; what the last run of the same act took is expected.
    pub fn begin(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            begun: Instant::now(),
            expected: expected(title),
            last: String::new(),
        }
    }

    /// Whether it may still go on.
    pub fn has_time(&self) -> bool {
        self.begun.elapsed() < PATIENCE
    }

    /// Says it, with the time.
    pub fn show(&mut self, text: String) {
        let seconds = self.begun.elapsed().as_secs();
        let time = format!("{seconds:>4} s of about {} s", self.expected);
        if stdout().is_terminal() {
            print!("\r\x1b[K  {time}  {text}");
            let _ = stdout().flush();
        } else if text != self.last {
            println!("  {time}  {text}");
        }
        self.last = text;
    }

    /// The act is over.
    pub fn end(self) {
        println!();
        remember(&self.title, self.begun.elapsed());
    }
}

fn file(title: &str) -> Option<PathBuf> {
    Some(
        programs::cache()
            .ok()?
            .join(format!("expected-{}", title.replace(' ', "-"))),
    )
}

fn expected(title: &str) -> u64 {
    let said = file(title).and_then(|file| fs::read_to_string(file).ok());
    said.and_then(|text| text.trim().parse().ok())
        .unwrap_or(GUESS)
}

/// The next run expects what this one took. Not worth failing for.
fn remember(title: &str, elapsed: Duration) {
    if let Some(file) = file(title) {
        let _ = fs::write(file, elapsed.as_secs().to_string());
    }
}
