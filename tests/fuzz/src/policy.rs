//! The policy file.

use upgrade::{Policy, Reason};

use crate::agent_policy::parse;

/// The longest error message, in characters.
const LONGEST: usize = 1000;

/// An accepted policy is within its ranges and prints to the same policy. A rejected one gets a
/// position that exists in the file.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match parse("policy.toml", &text) {
        Ok(policy) => taken(&policy),
        Err(Reason::BadPolicy {
            line,
            column,
            detail,
            ..
        }) => refused(&text, line, column, &detail),
        Err(other) => unreachable!("{other:?}"),
    }
}

fn taken(policy: &Policy) {
    assert_eq!(policy.validate(), Ok(()));
    let printed = toml::to_string(policy).unwrap_or_default();
    assert_eq!(
        parse("policy.toml", &printed).as_ref(),
        Ok(policy),
        "{printed}"
    );
}

fn refused(text: &str, line: usize, column: usize, detail: &str) {
    let at = text.split('\n').nth(line - 1);
    let width = at.map_or(0, |at| at.chars().count());
    assert!(
        at.is_some() && (1..=width + 1).contains(&column),
        "line {line}, column {column}: {detail}"
    );
    assert!((1..=LONGEST).contains(&detail.chars().count()), "{detail}");
    // The message repeats a value out of range as it is in the file.
    if let Some((field, rest)) = detail.split_once(" is ")
        && let Some((value, _)) = rest.split_once("; accepted is ")
        && !field.contains(' ')
    {
        assert!(!value.is_empty(), "{detail}");
    }
}
