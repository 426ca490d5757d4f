//! All that a node writes as JSON, with every field filled. The literals name each field, so a new
//! one has to be filled here too.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::Cell;

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value, json};
use upgrade::bill::Seconds;
use upgrade::history::Past;
use upgrade::names;
use upgrade::plan::{Blocked, Change, Failure, Package, PlaceRoom, Plan};
use upgrade::record::Reached;
use upgrade::report::{Answer, Cause, ControlPlane, Status};

const TEXT: &str = "text";

fn text() -> String {
    TEXT.to_owned()
}

fn change() -> Change {
    Change {
        from: Some(text()),
        to: Some(text()),
    }
}

fn plan() -> Plan {
    Plan {
        asked: text(),
        at: 1,
        code: Some(text()),
        reason: Some(text()),
        failed_before: Some(Failure {
            code: text(),
            reason: Some(text()),
        }),
        commit: "c".repeat(64).parse().ok(),
        kubelet: Some(change()),
        kernel: Some(change()),
        packages: vec![Package {
            name: text(),
            change: change(),
            bytes: 1,
        }],
        packages_left_out: 1,
        fetch_bytes: Some(1),
        etc_conflicts: vec![text()],
        etc_conflicts_left_out: 1,
        accounts: vec![text()],
        accounts_left_out: 1,
        room: vec![PlaceRoom {
            place: text(),
            need: 1,
            free: 0,
        }],
        kept_goes: true,
        unguarded: true,
        moving: vec![text()],
        moving_left_out: 1,
        blocked: vec![Blocked {
            pod: text(),
            by: text(),
        }],
        blocked_left_out: 1,
        returning: vec![text()],
        returning_left_out: 1,
        settings: vec![text()],
        settings_left_out: 1,
        control_plane: vec![text()],
        control_plane_left_out: 1,
        expected_seconds: Some(1),
        window_seconds: Some(1),
        opens: Some(text()),
        too_short: Some(text()),
        clock_unset: Some(text()),
        paused: Some(text()),
    }
}

fn status() -> Status {
    Status {
        id: "k-1".parse().ok(),
        phase: text(),
        step: Some(text()),
        doing: Some(text()),
        percent: 1,
        code: Some(text()),
        reason: Some(text()),
        reverts_for: Some(Cause {
            code: text(),
            reason: text(),
        }),
        from: "a".repeat(64).parse().ok(),
        to: "b".repeat(64).parse().ok(),
        to_version: "v1.36.3".parse().ok(),
        boot: "01234567-89ab-cdef-0123-456789abcdef".parse().ok(),
        tries: 1,
        unguarded: true,
        default_moved: true,
        paused: Some(text()),
        unknown_keys: vec![text()],
        differs: vec![text()],
        control_plane: Some(ControlPlane {
            locked: true,
            raised: "v1.36.3".parse().ok(),
            snapshot: Some(text()),
        }),
        reached: vec![Reached {
            phase: text(),
            at: 1,
            waited: 1,
        }],
        waiting_since: Some(1),
    }
}

fn past() -> Past {
    Past {
        id: "k-1".parse().ok(),
        answer: Answer::Failed,
        image: text(),
        from: "v1.35.4".parse().ok(),
        to: "v1.36.3".parse().ok(),
        began: 1,
        ended: 2,
        seconds: Some(Seconds::default()),
        tries: 1,
        code: Some(text()),
        reason: Some(text()),
    }
}

/// By annotation.
pub fn all() -> [(&'static str, Value); 3] {
    [
        (names::STATUS, json!(status())),
        (names::HISTORY, json!([past()])),
        (names::PLAN_RESULT, json!(plan())),
    ]
}

/// The paths of all strings in it.
pub fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(_) => vec![String::new()],
        Value::Array(all) => below(all.iter().enumerate()),
        Value::Object(all) => below(
            all.iter()
                .map(|(key, value)| (key.replace('/', "~1"), value)),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn below<'a, K: std::fmt::Display>(all: impl Iterator<Item = (K, &'a Value)>) -> Vec<String> {
    let paths = all.flat_map(|(key, value)| {
        let inner = strings(value);
        inner
            .into_iter()
            .map(move |path| format!("/{key}{path}"))
            .collect::<Vec<_>>()
    });
    paths.collect()
}

/// Whether the string at this path may be any text. Others are of types that take narrow alphabets
/// alone.
pub fn holds_any_text(key: &str, value: &Value, path: &str) -> bool {
    let mut other = value.clone();
    *other.pointer_mut(path).unwrap() = json!("\u{1b} any text");
    match key {
        names::STATUS => reads::<Status>(other),
        names::HISTORY => reads::<Vec<Past>>(other),
        _ => reads::<Plan>(other),
    }
}

fn reads<T: DeserializeOwned>(value: Value) -> bool {
    serde_json::from_value::<T>(value).is_ok()
}

/// Puts this in place of every number that can hold it.
pub fn numbers(value: &mut Value, number: u64) {
    match value {
        Value::Object(all) => {
            for (key, value) in all {
                match key.as_str() {
                    "at" | "began" | "fetchBytes" | "need" | "expectedSeconds" => {
                        *value = json!(number);
                    }
                    _ => numbers(value, number),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| numbers(value, number)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Fails where a field of a type is not among what is filled here.
pub fn has_every_field() {
    let [(_, status), (_, past), (_, plan)] = all();
    has::<Status>(&status);
    has::<Cause>(&status["revertsFor"]);
    has::<Reached>(&status["reached"][0]);
    has::<Past>(&past[0]);
    has::<Plan>(&plan);
    has::<Failure>(&plan["failedBefore"]);
    has::<Change>(&plan["kubelet"]);
    has::<PlaceRoom>(&plan["room"][0]);
    has::<Blocked>(&plan["blocked"][0]);
    for key in ["name", "from", "to"] {
        assert_eq!(plan["packages"][0][key], TEXT);
    }
}

fn has<T: DeserializeOwned>(value: &Value) {
    let fields = Cell::new(&[][..]);
    // It reads nothing: it only says which fields it would take.
    assert!(T::deserialize(Fields(&fields)).is_err());
    assert!(!fields.get().is_empty());
    for field in fields.get() {
        let filled = match &value[*field] {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(all) => !all.is_empty(),
            Value::Object(all) => !all.is_empty(),
            Value::Bool(_) | Value::Number(_) => true,
        };
        let of = std::any::type_name::<T>();
        assert!(filled, "{of}: {field} is not filled in tests/whole");
    }
}

/// Hears the names of a type's fields.
struct Fields<'a>(&'a Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0.set(fields);
        Err(Error::custom("there is nothing to read"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("there is nothing to read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
