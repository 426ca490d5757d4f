//! The steps of an upgrade as its disk saw them: each write of the record, found in the log by the
//! record's own text.
//!
//! The agent reports a step to the Node only afterwards, and skips steps that follow immediately.
//! It writes the record before every step.

use anyhow::Result;
use rig::writes::{Log, Request};
use serde_json::from_str;

/// The beginning of each copy of the record (`host::record`), at the beginning of a block.
const BEGIN: &[u8] = b"{\n  \"format\": ";
/// The maximum length of a record.
const LONGEST: u64 = 64 << 10;

/// A write of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The number of requests up to and including this one.
    pub after: usize,
    /// The phase in the record, as the Node spells it.
    pub phase: String,
    /// The step that the agent is about to take.
    pub step: Option<String>,
}

impl Mark {
    /// A name for people and the report.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.step {
            Some(step) => format!("{}, {step}", self.phase),
            None => self.phase.clone(),
        }
    }
}

/// All writes of the record, in order.
///
/// # Errors
///
/// Fails when the log cannot be read.
pub fn marks(log: &Log) -> Result<Vec<Mark>> {
    let mut marks = Vec::new();
    for (at, request) in log.requests.iter().enumerate() {
        if let Request::Write {
            log: there, length, ..
        } = *request
            && length <= LONGEST
        {
            let data = log.data(there, length)?;
            marks.extend(mark(at + 1, &data));
        }
    }
    Ok(marks)
}

/// The mark of a write, if it is the beginning of a record. The record may continue in another
/// write, but the fields are near its beginning.
fn mark(after: usize, data: &[u8]) -> Option<Mark> {
    let text = String::from_utf8_lossy(data.strip_prefix(BEGIN)?);
    let upgrade = &text[text.find("\n  \"upgrade\": {")?..];
    // A refused or finished upgrade further down does not count.
    let upgrade = &upgrade[..upgrade.find("\n  }").unwrap_or(upgrade.len())];
    Some(Mark {
        after,
        phase: value(upgrade, "\n    \"phase\": {", "\"name\": ")?,
        step: value(upgrade, "\n    \"intent\": {", "\"do\": "),
    })
}

/// The string value of the first `key` after `place`.
fn value(text: &str, place: &str, key: &str) -> Option<String> {
    let (_, within) = text.split_once(place)?;
    let (within, _) = within.split_once('}')?;
    let (_, value) = within.split_once(key)?;
    let end = value.find(['\n', ',', '}']).unwrap_or(value.len());
    from_str(value[..end].trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIAL: &[u8] = include_bytes!("../../../src/host/tests/samples/v1-trial");
    const EMPTY: &[u8] = include_bytes!("../../../src/host/tests/samples/v1-empty");

    #[test]
    fn only_a_write_of_the_record_yields_a_phase_and_step() {
        // The file system fills the block.
        let block = [TRIAL, &[0; 512]].concat();
        let wanted = Mark {
            after: 7,
            phase: "Trial".to_owned(),
            step: Some("Pass".to_owned()),
        };
        assert_eq!(mark(7, &block), Some(wanted));
        assert_eq!(mark(7, EMPTY), None, "no upgrade in it");
        assert_eq!(mark(7, &block[1..]), None);
        assert_eq!(mark(7, &[0; 4096]), None);
    }

    #[test]
    fn a_record_whose_end_is_in_another_write_is_told_by_its_begin() {
        let begin = &TRIAL[..600];
        assert_eq!(
            mark(1, begin).map(|mark| mark.phase).as_deref(),
            Some("Trial")
        );
    }
}
