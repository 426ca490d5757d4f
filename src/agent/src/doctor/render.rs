//! Findings as lines for a person and as JSON for a program.

use std::fmt::Write as _;

use serde_json::json;
use upgrade::exit;

use super::finding::{Finding, Verdict};

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// The worst verdict, or ok if there are no findings.
fn worst(findings: &[Finding]) -> Verdict {
    let verdicts = findings.iter().map(|finding| finding.verdict);
    verdicts.max().unwrap_or(Verdict::Ok)
}

/// The exit code of the worst verdict.
#[must_use]
pub fn exit_code(findings: &[Finding]) -> u8 {
    match worst(findings) {
        Verdict::Ok => exit::DONE,
        Verdict::Warn => exit::LOOK,
        Verdict::Bad => exit::UNFIT,
    }
}

/// One line each, aligned, followed by the fix, and a summary as the last line.
#[must_use]
pub fn text(findings: &[Finding]) -> String {
    let names = findings.iter().map(|finding| finding.name.len());
    let width = names.max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let word = finding.verdict.word();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{word:<4}  {:<width$}  {}",
            finding.name, finding.found
        );
        if !finding.fix.is_empty() {
            let _ = writeln!(text, "{:4}  {:width$}  -> {}", "", "", finding.fix);
        }
    }
    text + &summary(findings)
}

fn summary(findings: &[Finding]) -> String {
    let count = |verdict| {
        let such = findings.iter().filter(|finding| finding.verdict == verdict);
        such.count()
    };
    let (warn, bad) = (count(Verdict::Warn), count(Verdict::Bad));
    match worst(findings) {
        Verdict::Ok => "This node is ready for an upgrade.\n".to_owned(),
        Verdict::Warn => format!("This node can be upgraded; {warn} to check.\n"),
        Verdict::Bad => {
            format!("This node is not ready for an upgrade: {bad} bad, {warn} to check.\n")
        }
    }
}

/// The overall verdict and each finding.
#[must_use]
pub fn json(findings: &[Finding]) -> String {
    let all = json!({ "verdict": worst(findings), "checks": findings });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Vec<Finding> {
        vec![
            Finding::ok("loader", "a plain file"),
            Finding::warn("watchdog", "none", "load its driver"),
            Finding::bad("boot-room", "1 MiB free", "make room"),
        ]
    }

    #[test]
    fn lines_are_aligned_and_each_says_what_to_do() {
        let expected = "\
ok    loader     a plain file
warn  watchdog   none
                 -> load its driver
bad   boot-room  1 MiB free
                 -> make room
This node is not ready for an upgrade: 1 bad, 1 to check.
";
        assert_eq!(text(&findings()), expected);
    }

    #[test]
    fn exit_code_follows_the_worst_finding() {
        let all = findings();
        let codes = [&all[..0], &all[..1], &all[..2], &all[..]].map(exit_code);
        assert_eq!(codes, [0, 0, 4, 3]);
    }

    #[test]
    fn the_json_has_every_field_that_a_program_needs() {
        let value: serde_json::Value = serde_json::from_str(&json(&findings())).unwrap();
        assert_eq!(value["verdict"], "bad");
        let expected = json!({ "name": "watchdog", "verdict": "warn", "found": "none", "fix": "load its driver" });
        assert_eq!(value["checks"][1], expected);
        assert_eq!(value["checks"][0].get("fix"), None);
    }
}
