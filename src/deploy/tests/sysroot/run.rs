//! Runs programs and reads what `careen-deploy` answers.

use std::process::{Command, Output, Stdio};

use upgrade::Reason;
use upgrade::deploy::{Done, Line, Progress};
use upgrade::id::Digest;
use upgrade::image::{Deployment, ImageFacts};
use upgrade::plan::Found;

/// Runs a program that must succeed; its standard output.
pub fn succeed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// What one run printed, its form checked: progress lines, then one verdict that fits the exit
/// code.
#[derive(Debug)]
pub struct Answer {
    pub progress: Vec<Progress>,
    pub verdict: Result<Done, Reason>,
}

impl Answer {
    pub fn of(output: &Output) -> Self {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let mut lines: Vec<Line> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (verdict, code) = match lines.pop() {
            Some(Line::Done(done)) => (Ok(done), 0),
            Some(Line::Failed(reason)) => (Err(reason), 1),
            other => panic!("no verdict but {other:?} after {lines:?}: {said}"),
        };
        assert_eq!(output.status.code(), Some(code), "{said}");
        // Shown by the test runner when the test fails.
        println!("{said}");
        let progress = lines.into_iter().map(|line| match line {
            Line::Progress(progress) => progress,
            other => panic!("{other:?} before the last line"),
        });
        Self {
            progress: progress.collect(),
            verdict,
        }
    }

    pub fn reason(self) -> Reason {
        self.verdict.expect_err("it was to fail")
    }

    pub fn fetched(self) -> (Digest, u64) {
        match self.verdict {
            Ok(Done::Fetched { commit, bytes }) => (commit, bytes),
            other => panic!("not fetched: {other:?}"),
        }
    }

    pub fn verified(self) -> ImageFacts {
        match self.verdict {
            Ok(Done::Verified(facts)) => facts,
            other => panic!("not verified: {other:?}"),
        }
    }

    pub fn planned(self) -> Result<Found, Reason> {
        self.verdict.map(|done| match done {
            Done::Planned(found) => *found,
            other => panic!("not planned: {other:?}"),
        })
    }

    pub fn deployed(self) -> Deployment {
        match self.verdict {
            Ok(Done::Deployed(deployment)) => deployment,
            other => panic!("not deployed: {other:?}"),
        }
    }
}
