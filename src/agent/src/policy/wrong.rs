//! Which key of a policy's text is wrong, and how its value is written.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use upgrade::policy::keys::{Form, keys, unknown};

/// One key that is set, by its full name (`drain.deadline-seconds`), with its form, and where key
/// and value are in the text.
struct Setting {
    name: String,
    form: Option<Form>,
    key: Range<usize>,
    value: Range<usize>,
}

/// What is wrong at this byte. `said` is what the parser says about it.
pub(super) fn told(text: &str, at: usize, said: &str) -> String {
    let settings = settings(text);
    let of_value = settings.iter().find(|set| set.value.contains(&at));
    let of_key = || settings.iter().find(|set| set.key.contains(&at));
    let by_its_line = || on_the_line(text, at);
    match of_value.or_else(of_key) {
        Some(set) if !keys().contains_key(&set.name) => unknown(&set.name),
        Some(set) => value(&set.name, written(set, text), said),
        None => match by_its_line() {
            Some(name) if keys().contains_key(&name) => value(&name, None, said),
            Some(name) => format!("{name}: {said}"),
            None => said.to_owned(),
        },
    }
}

/// The form of a value as it is written. The parser takes a word without quotes for a text.
fn written(set: &Setting, text: &str) -> Option<Form> {
    let raw = text.get(set.value.clone()).unwrap_or_default();
    let quoted = raw.starts_with(['"', '\'']);
    set.form.filter(|form| *form != Form::Text || quoted)
}

/// A value of another form than the key's, or one that is no value of TOML, brings the accepted
/// form.
fn value(name: &str, found: Option<Form>, said: &str) -> String {
    let accepted = keys().get(name).copied();
    let differs = match (accepted, found) {
        (Some(Form::Either), _) => false,
        (Some(accepted), Some(found)) => accepted != found,
        (Some(_) | None, None) | (None, Some(_)) => true,
    };
    match accepted.filter(|_| differs) {
        Some(form) => format!("{name}: {said}; accepted is {}", form.accepted()),
        None => format!("{name}: {said}"),
    }
}

/// All keys that are set, also in a text that is not TOML everywhere.
fn settings(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let (table, _) = DeTable::parse_recoverable(text);
    collect(table.get_ref(), "", &mut found);
    found
}

/// The tables inside a table precede the table itself.
fn collect(table: &DeTable<'_>, above: &str, found: &mut Vec<Setting>) {
    for (key, value) in table.iter() {
        let name = format!("{above}{}", key.get_ref());
        if let Some(inner) = value.get_ref().as_table() {
            collect(inner, &format!("{name}."), found);
        }
        let form = form(value.get_ref());
        let (key, value) = (key.span(), value.span());
        found.push(Setting {
            name,
            form,
            key,
            value,
        });
    }
}

/// The form of a value; `None` for what no key takes.
const fn form(value: &DeValue<'_>) -> Option<Form> {
    match value {
        DeValue::String(_) => Some(Form::Text),
        DeValue::Integer(_) => Some(Form::Number),
        DeValue::Boolean(_) => Some(Form::Switch),
        DeValue::Array(_) => Some(Form::List),
        DeValue::Table(_) => Some(Form::Table),
        DeValue::Float(_) | DeValue::Datetime(_) => None,
    }
}

/// The key on the line of this byte, or on the last line before it that has one, as far as the text
/// shows it: a value that is no TOML may have lost its key.
fn on_the_line(text: &str, at: usize) -> Option<String> {
    let end = text
        .get(at..)?
        .find('\n')
        .map_or(text.len(), |length| at + length);
    let mut lines = text.get(..end)?.lines().rev();
    let key = lines.find_map(key)?;
    let table = text.get(..at)?.lines().rev().find_map(header);
    Some(match table {
        Some(table) => format!("{table}.{key}"),
        None => key.to_owned(),
    })
}

/// The key of a line: what is before its `=`, or its first word.
fn key(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    match line.split_once('=') {
        Some((key, _)) => Some(key.trim()),
        None if line.starts_with(is_part) => line.split(|letter| !is_part(letter)).next(),
        None => None,
    }
}

/// The name of the table that a line begins.
fn header(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix('[')?.split(']').next()?;
    Some(name.trim())
}

/// Where a field is set, and to what. Values that parse but are out of range no longer carry a
/// position.
pub(super) fn find<'a>(text: &'a str, field: &str) -> (usize, &'a str) {
    let set = settings(text).into_iter().find(|set| set.name == field);
    set.map_or((0, ""), |set| {
        (set.key.start, text.get(set.value).unwrap_or_default())
    })
}
