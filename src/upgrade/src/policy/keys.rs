//! The names of the policy's keys, and the form of their values, for refusals.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Policy;
use crate::typo::nearest;

/// The form of a value in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Number,
    /// A text.
    Text,
    /// A list.
    List,
    /// A table with keys of its own.
    Table,
    /// A text or a number.
    Either,
}

impl Form {
    /// How a person writes it.
    #[must_use]
    pub const fn accepted(self) -> &'static str {
        match self {
            Self::Switch => "true or false, without quotes",
            Self::Number => "a whole number, without quotes and unit",
            Self::Text => "a text in double quotes",
            Self::List => "a list in brackets, with each text in double quotes",
            Self::Table => "a table, as [drain] on a line of its own",
            Self::Either => "a text in double quotes, or a whole number",
        }
    }
}

/// The only key that takes two forms.
const EITHER: &str = "window.last-begin-minutes";

/// All keys by their whole names, such as `drain.order`, and all tables.
#[must_use]
pub fn keys() -> BTreeMap<String, Form> {
    let mut keys = BTreeMap::new();
    let defaults = serde_json::to_value(Policy::default()).unwrap_or_default();
    collect(&defaults, "", &mut keys);
    keys
}

fn collect(table: &Value, above: &str, keys: &mut BTreeMap<String, Form>) {
    for (key, value) in table.as_object().into_iter().flatten() {
        let name = format!("{above}{key}");
        let form = match value {
            _ if name == EITHER => Form::Either,
            Value::Object(_) => Form::Table,
            Value::Array(_) => Form::List,
            Value::Bool(_) => Form::Switch,
            Value::Number(_) => Form::Number,
            Value::String(_) | Value::Null => Form::Text,
        };
        collect(value, &format!("{name}."), keys);
        keys.insert(name, form);
    }
}

/// Why a key is unknown, with the key that is possibly meant, or with the keys that its table has.
#[must_use]
pub fn unknown(name: &str) -> String {
    let keys = keys();
    let (table, last) = split(name);
    let beside = keys.keys().filter(|key| split(key).0 == table);
    let beside: Vec<&str> = beside.map(|key| split(key).1).collect();
    let elsewhere: Vec<&str> = keys
        .keys()
        .filter(|key| split(key).1 == last)
        .map(String::as_str)
        .collect();
    let all: Vec<&str> = keys.keys().map(|key| split(key).1).collect();
    let hint = if let Some(near) = nearest(last, &beside) {
        format!("{near} is perhaps meant")
    } else if !elsewhere.is_empty() {
        let places: Vec<_> = elsewhere.iter().map(|key| place(key)).collect();
        format!("{last} is a key {}", places.join(" and "))
    } else if let Some(near) = nearest(last, &all) {
        let whole = keys.keys().filter(|key| split(key).1 == near);
        let whole: Vec<&str> = whole.map(String::as_str).collect();
        format!("{} is perhaps meant", whole.join(" or "))
    } else {
        format!("the keys there are {}", beside.join(", "))
    };
    format!("{name} is not a key of the policy; {hint}")
}

/// The table of a key, and the key within it.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// Where a key belongs.
fn place(name: &str) -> String {
    match split(name).0 {
        "" => "above the first table".to_owned(),
        table => format!("of [{table}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_policy_has_its_form() {
        let keys = keys();
        for (key, form) in [
            ("opt-out", Form::Text),
            ("remotes", Form::List),
            ("unsigned", Form::Switch),
            ("trials", Form::Number),
            ("drain", Form::Table),
            ("drain.order", Form::List),
            ("drain.at-deadline", Form::Text),
            ("window.last-begin-minutes", Form::Either),
            ("metrics.listen", Form::Text),
        ] {
            assert_eq!(keys.get(key), Some(&form), "{key}");
        }
        assert!(!keys.contains_key("window.rules"));
    }

    #[test]
    fn unknown_key_names_the_one_that_is_meant_or_its_place() {
        for (name, told) in [
            ("unsinged", "unsigned is perhaps meant"),
            ("opt_out", "opt-out is perhaps meant"),
            ("drain.deadline-second", "deadline-seconds is perhaps meant"),
            ("drain.unsigned", "unsigned is a key above the first table"),
            (
                "deadline-seconds",
                "deadline-seconds is a key of [drain] and of [health]",
            ),
            ("bandwith-bytes", "limits.bandwidth-bytes is perhaps meant"),
            (
                "drain.deadline",
                "the keys there are at-deadline, deadline-seconds",
            ),
            ("health.skip", "skip is a key of [drain]"),
        ] {
            let text = unknown(name);
            assert!(text.starts_with(&format!("{name} is not a key")), "{text}");
            assert!(text.contains(told), "{text}");
        }
    }
}
