//! A policy's text: what it says, or where it is wrong.

mod wrong;

use std::path::Path;

use host::trust::Fault;
use upgrade::reason::complaint;
use upgrade::{Policy, Reason};

/// Parses a policy's text; `file` is for the message. The result does not include the rules of its
/// time zone.
///
/// # Errors
/// [`Reason::BadPolicy`], with the place in the file.
pub fn parse(file: &str, text: &str) -> Result<Policy, Reason> {
    let policy: Policy = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        bad(
            file,
            place(text, at),
            wrong::told(text, at, error.message()),
        )
    })?;
    policy.validate().map_err(|outside| {
        let accepted = match &outside.wrong {
            Some(wrong) => format!("{} ({wrong})", outside.accepted),
            None => outside.accepted.to_owned(),
        };
        refused(file, text, outside.field, &accepted)
    })?;
    Ok(policy)
}

/// Why the value in this field is rejected.
#[must_use]
pub fn refused(file: &str, text: &str, field: &str, accepted: &str) -> Reason {
    let (at, value) = wrong::find(text, field);
    let detail = format!("{field} is {value}; accepted is {accepted}");
    bad(file, place(text, at), detail)
}

/// Why a file that cannot be read at all is rejected.
#[must_use]
pub fn unreadable(file: &str, error: &std::io::Error) -> Reason {
    bad(file, WHOLE, error.to_string())
}

/// Why a file that users other than root may write is rejected, with the command that corrects it.
#[must_use]
pub fn untrusted(file: &Path, fault: &Fault) -> Reason {
    bad(&file.display().to_string(), WHOLE, fault.with_its_fix())
}

/// Why a file or folder that is nearly one of the operator's is rejected. What it says does not
/// hold, and the person who wrote it believes that it does.
#[must_use]
pub fn misnamed(file: &Path, meant: &str) -> Reason {
    let detail = format!(
        "Careen reads {meant} and not this; rename it, remove it, or end its name with .disabled"
    );
    bad(&file.display().to_string(), WHOLE, detail)
}

/// The place of an error that concerns the whole file.
const WHOLE: (usize, usize) = (0, 0);

fn bad(file: &str, (line, column): (usize, usize), detail: String) -> Reason {
    Reason::BadPolicy {
        file: file.to_owned(),
        line,
        column,
        detail: complaint(&detail),
    }
}

/// Line and column of a byte, both from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (line, column)
}

#[cfg(test)]
mod tests;
