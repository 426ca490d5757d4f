//! A line every ten seconds while a long part runs: component, elapsed and expected time.
//!
//! `.ci/progress` does the same for shell scripts, and keeps its times in the same folder.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::programs;

/// The longest time without a line.
pub const EVERY: Duration = Duration::from_secs(10);

/// A shorter part says nothing about how long it takes with an empty cache.
const WORTH_KEEPING: Duration = Duration::from_secs(5);

/// The seconds of a first run, on a quiet machine with two cores.
const FIRST: [(&str, u64); 4] = [
    ("our programs", 240),
    ("Debian root", 60),
    ("the node", 240),
    ("upgrade", 210),
];

/// Prints a line to standard error every ten seconds until it is dropped.
#[derive(Debug)]
pub struct Ticker {
    title: String,
    begun: Instant,
    done: Option<Sender<()>>,
    lines: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the clock. The expected time is that of the last run of the same part.
    #[must_use]
    pub fn begin(title: &str) -> Self {
        let (done, ended) = channel();
        let (begun, name) = (Instant::now(), title.to_owned());
        let lines = thread::spawn(move || {
            each(EVERY, &ended, || {
                eprintln!("  {}", line(&name, begun.elapsed(), expected(&name)));
            });
        });
        Self {
            title: title.to_owned(),
            begun,
            done: Some(done),
            lines: Some(lines),
        }
    }

    /// Ends the part, keeps its time for the next run, and returns it.
    pub fn end(self) -> Duration {
        let elapsed = self.begun.elapsed();
        if elapsed >= WORTH_KEEPING {
            remember(&self.title, elapsed);
        }
        elapsed
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.done = None;
        if let Some(lines) = self.lines.take() {
            let _ = lines.join();
        }
    }
}

/// Calls `show` after each interval, until the other end is dropped.
fn each(interval: Duration, ended: &Receiver<()>, show: impl Fn()) {
    while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        show();
    }
}

fn line(title: &str, elapsed: Duration, expected: Option<u64>) -> String {
    let seconds = elapsed.as_secs();
    match expected {
        Some(expected) => format!("{title}: {seconds} s of about {expected} s"),
        None => format!("{title}: {seconds} s"),
    }
}

/// The seconds that a part took the last time, else the guess for a first run.
#[must_use]
pub fn expected(title: &str) -> Option<u64> {
    let said = file(title).and_then(|file| fs::read_to_string(file).ok());
    let guess = || FIRST.iter().find(|(name, _)| title.starts_with(name));
    said.and_then(|text| text.trim().parse().ok())
        .or_else(|| guess().map(|(_, seconds)| *seconds))
}

/// Saves the time of a part for the next run. An error here is ignored.
pub fn remember(title: &str, elapsed: Duration) {
    if let Some(file) = file(title) {
        let _ = file.parent().map(fs::create_dir_all);
        let _ = fs::write(file, elapsed.as_secs().to_string());
    }
}

fn file(title: &str) -> Option<PathBuf> {
    let name: String = title.chars().map(plain).collect();
    Some(programs::cache().ok()?.join("expected").join(name))
}

fn plain(letter: char) -> char {
    if letter.is_ascii_alphanumeric() || letter == '.' {
        letter
    } else {
        '-'
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn line_has_component_elapsed_and_expected_time() {
        let said = line("etcd", Duration::from_secs(20), Some(60));
        assert_eq!(said, "etcd: 20 s of about 60 s");
        assert_eq!(line("etcd", Duration::from_secs(20), None), "etcd: 20 s");
    }

    #[test]
    fn lines_come_until_the_part_ends() {
        let (done, ended) = channel();
        let (done, shown) = (Cell::new(Some(done)), Cell::new(0));
        each(Duration::from_millis(1), &ended, || {
            shown.set(shown.get() + 1);
            if shown.get() == 3 {
                done.take();
            }
        });
        assert_eq!(shown.get(), 3);
    }

    #[test]
    fn title_is_a_plain_file_name() {
        let name: String = "commit a/b c.d".chars().map(plain).collect();
        assert_eq!(name, "commit-a-b-c.d");
    }
}
