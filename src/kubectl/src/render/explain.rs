//! An explanation as text.

use std::fmt::Write;

use super::look::{Look, Tone};
use crate::diagnose::{Explanation, Fact, Finding, Weight};

/// The width of the column of names.
const NAMES: usize = 15;

/// The headline, the facts, each finding with its advice, and the runbook's section.
#[must_use]
pub fn explain(explanation: &Explanation, look: Look) -> String {
    let mut text = look.paint(Tone::Strong, &explanation.headline) + "\n\n";
    for fact in &explanation.facts {
        text += &known(fact, look);
    }
    for finding in &explanation.findings {
        text += "\n";
        text += &shown(finding, look);
    }
    if let Some(runbook) = &explanation.runbook {
        text += &section(runbook, look);
    }
    text
}

/// A fact, in lines that fit the screen.
fn known(Fact { name, value }: &Fact, look: Look) -> String {
    let beside = Look {
        width: look.width.map(|width| width.saturating_sub(NAMES)),
        ..look
    };
    let mut name = look.paint(Tone::Faint, &format!("{name:<NAMES$}"));
    let mut text = String::new();
    for line in wrapped(value, beside) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {name}{line}");
        name = " ".repeat(NAMES);
    }
    text
}

/// The runbook's section, with its paragraphs rewrapped for this screen.
fn section(runbook: &str, look: Look) -> String {
    let mut text = format!("\n{}\n", look.paint(Tone::Faint, "the runbook:"));
    for paragraph in runbook.split("\n\n") {
        text.push('\n');
        let words = paragraph.replace('\n', " ").replace("**", "");
        for line in wrapped(&words, look) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn shown(finding: &Finding, look: Look) -> String {
    let tone = match finding.weight {
        Weight::Bad => Tone::Bad,
        Weight::Held => Tone::Held,
        Weight::Note => Tone::Plain,
    };
    let mut text = String::new();
    for line in wrapped(&finding.what, look) {
        let _ = writeln!(text, "{}", look.paint(tone, &line));
    }
    if let Some(so) = &finding.so {
        let mut mark = "  -> ";
        for line in wrapped(so, look) {
            let _ = writeln!(text, "{mark}{line}");
            mark = "     ";
        }
    }
    text
}

/// Lines that fit the screen, with room for the marker. Without a screen, one line.
fn wrapped(text: &str, look: Look) -> Vec<String> {
    let room = look
        .width
        .map_or(usize::MAX, |width| width.saturating_sub(5).max(20));
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > room {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
