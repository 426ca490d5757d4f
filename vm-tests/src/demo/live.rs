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
    let start = Instant::now();
    let expected = expected(title);
    let mut last = String::new();
    loop {
        let view = rig.node.now();
        let fresh = rig.is_new_answer(&view);
        if fresh {
            last = draw(&view, start.elapsed(), expected, &last);
        }
        let answer = view
            .answer
            .clone()
            .filter(|answer| fresh && answer != Answer::InProgress.as_str());
        if let Some(answer) = answer {
            println!();
            remember(title, start.elapsed());
            return Ok(answer);
        }
        ensure!(
            start.elapsed() < PATIENCE,
            "no answer within {PATIENCE:?}; the Node is {view:#?}"
        );
        rig.node.changed(Duration::from_secs(1)).await;
    }
}

/// On a terminal one line that is drawn again; elsewhere a line whenever something new is said.
fn draw(view: &View, elapsed: Duration, expected: u64, last: &str) -> String {
    let Some(status) = &view.status else {
        return String::new();
    };
    let doing = status
        .doing
        .as_deref()
        .or(status.step.as_deref())
        .unwrap_or_default();
    let ready = if view.ready { "Ready" } else { "NotReady" };
    let cordoned = if view.schedulable { "" } else { ", cordoned" };
    let text = format!(
        "{:<9} {:>3} %  {doing}  [{ready}{cordoned}]",
        status.phase, status.percent
    );
    let time = format!("{:>4} s of about {expected} s", elapsed.as_secs());
    if stdout().is_terminal() {
        print!("\r\x1b[K  {time}  {text}");
        let _ = stdout().flush();
    } else if text != last {
        println!("  {time}  {text}");
    }
    text
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
