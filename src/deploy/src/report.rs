//! Prints the lines that the agent reads: progress as it changes, then the verdict.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use upgrade::deploy::{Line, Progress};

/// Progress lines come no faster than this. A reader shows no more, and each line is a write and a
/// flush.
const PACE: Duration = Duration::from_millis(250);

/// The standard output of one run.
#[derive(Default)]
pub struct Report {
    last: RefCell<Option<(Instant, Progress)>>,
}

impl Report {
    /// Reports the verb's progress, unless it did not change. It never goes back: if a total grows,
    /// it waits.
    pub fn progress(&self, percent: u8, doing: impl Into<String>) {
        let now = Instant::now();
        let mut last = self.last.borrow_mut();
        let next = Progress {
            percent: onward(last.as_ref().map(|(_, before)| before), percent),
            doing: doing.into(),
        };
        let worth_saying = last.as_ref().is_none_or(|(at, before)| {
            *before != next
                && (now.duration_since(*at) >= PACE || first_word(before) != first_word(&next))
        });
        if worth_saying {
            say(&Line::Progress(next.clone()));
            *last = Some((now, next));
        }
    }
}

fn onward(last: Option<&Progress>, percent: u8) -> u8 {
    let reached = last.map_or(0, |last| last.percent);
    percent.min(100).max(reached)
}

/// A new activity always gets a line. New numbers of the same activity are rate-limited.
fn first_word(progress: &Progress) -> Option<&str> {
    progress.doing.split_whitespace().next()
}

/// The output for the lines, once [`claim_output`] was called.
static LINES: OnceLock<File> = OnceLock::new();

/// Reserves standard output for the lines. libostree prints how much it has pruned, and its child
/// programs print what they like. From here on, all that goes to standard error.
///
/// # Errors
/// The process has no more descriptors.
pub fn claim_output() -> io::Result<()> {
    let lines = io::stdout().as_fd().try_clone_to_owned()?;
    nix::unistd::dup2_stdout(io::stderr())?;
    LINES.get_or_init(|| File::from(lines));
    Ok(())
}

/// Prints the verdict, the last line of a run. There is only one: a second call prints nothing.
pub fn verdict(line: &Line) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::SeqCst) {
        say(line);
    }
}

/// Prints one line. A reader that has gone away must not stop the work, so failures are ignored.
fn say(line: &Line) {
    if let Ok(text) = serde_json::to_string(line) {
        let line = format!("{text}\n");
        let _ = match LINES.get() {
            Some(mut lines) => lines.write_all(line.as_bytes()),
            None => io::stdout().write_all(line.as_bytes()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_that_was_said_is_never_taken_back() {
        let said = |percent| Progress {
            percent,
            doing: "fetching".to_owned(),
        };
        assert_eq!(onward(None, 12), 12);
        assert_eq!(onward(Some(&said(12)), 8), 12);
        assert_eq!(onward(Some(&said(12)), 13), 13);
        assert_eq!(onward(Some(&said(99)), 200), 100);
    }
}
