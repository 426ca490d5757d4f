//! A survey for a person, on one screen, and for a program.

use std::fmt::Write as _;

use serde_json::json;
use upgrade::control_plane::{Class, Finding, Survey, lines};
use upgrade::exit;

/// The widest line; longer ones are wrapped between words.
const WIDTH: usize = 100;

/// The exit code of the worst finding.
#[must_use]
pub fn exit_code(findings: &[Finding]) -> u8 {
    match findings.iter().map(|finding| finding.class).min() {
        None => exit::DONE,
        Some(Class::Warn) => exit::LOOK,
        Some(Class::Refuse | Class::Wait) => exit::UNFIT,
    }
}

/// The survey and the findings as JSON.
#[must_use]
pub fn json(survey: &Survey, findings: &[Finding]) -> String {
    let all = json!({ "survey": survey, "findings": findings });
    format!("{all:#}\n")
}

/// The survey as aligned lines, then the findings, then what they mean together.
#[must_use]
pub fn text(survey: &Survey, findings: &[Finding]) -> String {
    let lines = lines(survey);
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, says) in &lines {
        put(&mut text, name, width, says);
    }
    if !findings.is_empty() {
        text.push('\n');
    }
    for finding in findings {
        let says = format!("{}: {}", finding.code.name(), finding.says);
        put(&mut text, word(finding.class), 6, &says);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\n{}", summary(findings));
    text
}

/// A name and a text beside it, wrapped.
fn put(text: &mut String, name: &str, width: usize, says: &str) {
    let room = WIDTH.saturating_sub(width + 2);
    for (at, line) in wrapped(says, room).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        let line = format!("{name:<width$}  {line}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn wrapped(says: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in says.split(' ') {
        let more = word.chars().count() + 1;
        if length > 0 && length + more > room {
            lines.push(String::new());
            length = 0;
        }
        if let Some(line) = lines.last_mut() {
            if length > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
        length += more;
    }
    lines
}

const fn word(class: Class) -> &'static str {
    match class {
        Class::Refuse => "refuse",
        Class::Wait => "wait",
        Class::Warn => "warn",
    }
}

fn summary(findings: &[Finding]) -> String {
    let count = |class| {
        let such = findings.iter().filter(|finding| finding.class == class);
        such.count()
    };
    let (refuse, wait, warn) = (count(Class::Refuse), count(Class::Wait), count(Class::Warn));
    match (refuse, wait, warn) {
        (0, 0, 0) => "Nothing is in the way of an upgrade of this control plane.".to_owned(),
        (0, 0, warn) => {
            format!("Nothing is in the way of an upgrade of this control plane; {warn} to check.")
        }
        (0, wait, warn) => {
            format!("This control plane is not ready yet: {wait} to wait for, {warn} to check.")
        }
        (refuse, wait, warn) => format!(
            "This control plane is not ready: {refuse} to fix, {wait} to wait for, {warn} to check."
        ),
    }
}

#[cfg(test)]
mod tests;
