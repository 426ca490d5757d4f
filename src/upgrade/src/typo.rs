//! Which part of a value that a person typed is wrong, and which rule it breaks, in words.
//!
//! Such a value may have 64 digits and differ from a good one in a letter that nobody sees. So a
//! refusal names the first letter that breaks a rule and its position, or counts what is missing.

mod letter;

use thiserror::Error;

pub(crate) use letter::told as letter;

/// A value that does not have its accepted form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field} is {value:?}{}; use {accepted}", between(" (", .wrong, ")"))]
pub struct Malformed {
    /// The field that has the value.
    pub field: &'static str,
    /// The value, cut to fit a message.
    pub value: String,
    /// The accepted form, for display.
    pub accepted: &'static str,
    /// The part that is wrong, and the rule that it breaks, for display.
    pub wrong: Option<String>,
}

impl Malformed {
    /// The refusal of a value of which only the accepted form is known.
    #[must_use]
    pub fn new(field: &'static str, value: &str, accepted: &'static str) -> Self {
        let wrong = of_any(value);
        let at = wrong.as_ref().map_or(0, |wrong| wrong.at);
        Self {
            field,
            value: shown(value, at),
            accepted,
            wrong: wrong.map(|wrong| wrong.says),
        }
    }

    /// The same for another field, which has other accepted forms.
    #[must_use]
    pub(crate) fn of(self, field: &'static str, accepted: &'static str) -> Self {
        Self {
            field,
            accepted,
            ..self
        }
    }
}

/// What is wrong, between two texts; empty if that is not known.
pub(crate) fn between(before: &str, wrong: &Option<String>, after: &str) -> String {
    let put = |wrong: &String| format!("{before}{wrong}{after}");
    wrong.as_ref().map(put).unwrap_or_default()
}

/// The part of a value that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The byte of the value at which the wrong part begins.
    at: usize,
    /// The rule that it breaks.
    says: String,
}

/// The longest value that a message repeats whole, in characters. A good image with digest and
/// commit is shorter, if its name is not very long.
const WHOLE: usize = 240;

/// How much of a longer value a message repeats: of its beginning, and on each side of the wrong
/// part, in characters.
const PART: usize = 60;

/// The mark where a value is cut.
const CUT: &str = "…";

impl Wrong {
    /// The part that begins at this byte.
    pub(crate) fn at(at: usize, says: impl Into<String>) -> Self {
        let says = says.into();
        Self { at, says }
    }

    /// The same, seen from a value in which this one begins `by` bytes later.
    #[must_use]
    pub(crate) fn moved(mut self, by: usize) -> Self {
        self.at += by;
        self
    }

    /// The same, with the name of the part before it.
    #[must_use]
    pub(crate) fn within(mut self, part: &str) -> Self {
        self.says = format!("{part} {}", self.says);
        self
    }

    /// The refusal of the whole value. What no typed value may have comes first: a blank at an end,
    /// or a letter that is not what it looks like.
    pub(crate) fn in_field(
        self,
        field: &'static str,
        value: &str,
        accepted: &'static str,
    ) -> Malformed {
        let wrong = of_any(value).unwrap_or(self);
        Malformed {
            field,
            value: shown(value, wrong.at),
            accepted,
            wrong: Some(wrong.says),
        }
    }
}

/// What is wrong with a value of any form: that it is empty, has a blank at an end, or a letter
/// outside of ASCII.
pub(crate) fn of_any(value: &str) -> Option<Wrong> {
    if value.is_empty() {
        return Some(Wrong::at(0, "it is empty"));
    }
    let (first, last) = (value.chars().next()?, value.chars().next_back()?);
    if first.is_whitespace() {
        return Some(Wrong::at(0, format!("it begins with {}", letter(first))));
    }
    if last.is_whitespace() {
        let at = value.len() - last.len_utf8();
        return Some(Wrong::at(at, format!("it ends with {}", letter(last))));
    }
    let plain = |c: char| c.is_ascii() && !c.is_ascii_control();
    letters(value, plain, "")
        .err()
        .map(|wrong| wrong.within("it"))
}

/// The first letter that is not allowed, for a message of another parser; `None` if all are.
#[must_use]
pub fn first(value: &str, is_allowed: impl Fn(char) -> bool) -> Option<String> {
    let specific = || {
        letters(value, is_allowed, "")
            .err()
            .map(|wrong| wrong.within("it"))
    };
    of_any(value).or_else(specific).map(|wrong| wrong.says)
}

/// Checks each letter. `rule` names those that are allowed.
pub(crate) fn letters(
    text: &str,
    is_allowed: impl Fn(char) -> bool,
    rule: &str,
) -> Result<(), Wrong> {
    let mut all = text.char_indices().enumerate();
    let Some((place, (at, found))) = all.find(|(_, (_, c))| !is_allowed(*c)) else {
        return Ok(());
    };
    let rule = match rule {
        "" => String::new(),
        rule => format!(", where only {rule} are allowed"),
    };
    let says = format!("has {} at position {}{rule}", letter(found), place + 1);
    Err(Wrong::at(at, says))
}

/// Checks the number of letters. `what` is what is counted, in the plural.
pub(crate) fn count(text: &str, wanted: usize, what: &str) -> Result<(), Wrong> {
    let found = text.chars().count();
    match found {
        _ if found == wanted => Ok(()),
        0 => Err(Wrong::at(0, "is empty")),
        _ if found < wanted => Err(Wrong::at(
            text.len(),
            format!("has {found} of {wanted} {what}"),
        )),
        _ => {
            let at = text.char_indices().nth(wanted).map_or(0, |(at, _)| at);
            let many = found - wanted;
            Err(Wrong::at(
                at,
                format!("has {found} {what}, {many} more than {wanted}"),
            ))
        }
    }
}

/// Checks that there are letters, and not too many.
pub(crate) fn length(text: &str, most: usize) -> Result<(), Wrong> {
    match text.chars().count() {
        0 => Err(Wrong::at(0, "is empty")),
        found if found > most => {
            let at = text.char_indices().nth(most).map_or(0, |(at, _)| at);
            Err(Wrong::at(
                at,
                format!("has {found} letters of at most {most}"),
            ))
        }
        _ => Ok(()),
    }
}

/// What is wrong with a word that is none of those accepted.
pub(crate) fn word(text: &str, accepted: &[&str]) -> Wrong {
    match nearest(text, accepted) {
        Some(word) if word.eq_ignore_ascii_case(text) => {
            Wrong::at(0, format!("it differs from {word:?} in capitals"))
        }
        Some(word) => Wrong::at(0, format!("it is nearly {word:?}")),
        None => Wrong::at(0, "it is another word"),
    }
}

/// The word of a list that a misspelt one resembles. Up to two letters may differ, and in a short
/// word one.
#[must_use]
pub fn nearest<'a>(text: &str, list: &[&'a str]) -> Option<&'a str> {
    let typed = text.to_ascii_lowercase();
    let distance = |word: &str| strsim::osa_distance(&typed, &word.to_ascii_lowercase());
    let near = list.iter().map(|word| (distance(word), *word)).min()?;
    let most = if near.1.len() < 5 { 1 } else { 2 };
    (near.0 <= most).then_some(near.1)
}

/// Checks a whole number of a range.
pub(crate) fn number(text: &str, (low, high): (u64, u64)) -> Result<u64, Wrong> {
    let unit = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if !unit.is_empty() && unit != text && unit.bytes().all(|c| c.is_ascii_digit()) {
        let says = format!(
            "it has the unit {:?}, but it is a number alone",
            &text[unit.len()..]
        );
        return Err(Wrong::at(unit.len(), says));
    }
    letters(text, |c| c.is_ascii_digit(), "digits").map_err(|wrong| wrong.within("it"))?;
    match text.parse() {
        Ok(number) if number < low => Err(Wrong::at(0, format!("it is less than {low}"))),
        Ok(number) if number <= high => Ok(number),
        Ok(_) | Err(_) if text.is_empty() => Err(Wrong::at(0, "it is empty")),
        Ok(_) | Err(_) => Err(Wrong::at(0, format!("it is more than {high}"))),
    }
}

/// A value for a message: whole, or its beginning and the neighbourhood of the wrong part, with a
/// mark where it is cut.
fn shown(value: &str, at: usize) -> String {
    let all: Vec<char> = value.chars().collect();
    if all.len() <= WHOLE {
        return value.to_owned();
    }
    let place = value
        .char_indices()
        .take_while(|(byte, _)| *byte < at)
        .count();
    let from = place.saturating_sub(PART);
    let until = all.len().min(place + PART);
    let part = |range: std::ops::Range<usize>| all[range].iter().collect::<String>();
    let head = match from <= PART {
        true => part(0..until),
        false => format!("{}{}{}", part(0..PART), CUT, part(from..until)),
    };
    let tail = if until < all.len() { CUT } else { "" };
    format!("{head}{tail} ({} letters)", all.len())
}

#[cfg(test)]
mod tests;
