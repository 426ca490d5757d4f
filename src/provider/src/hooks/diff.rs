//! The differences between two objects: paths to the deepest values that differ.

use serde_json::Value;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// Its place, as a JSON pointer.
    pub path: String,
    /// The current value; nothing if it is added.
    pub current: Option<&'a Value>,
    /// The desired value; nothing if it is removed.
    pub desired: Option<&'a Value>,
}

/// All differences below `path`, in order. Lists are compared as a whole.
#[must_use]
pub fn changes<'a>(path: &str, current: &'a Value, desired: &'a Value) -> Vec<Change<'a>> {
    let mut found = Vec::new();
    collect(path, Some(current), Some(desired), &mut found);
    found
}

fn collect<'a>(
    path: &str,
    current: Option<&'a Value>,
    desired: Option<&'a Value>,
    found: &mut Vec<Change<'a>>,
) {
    // The API server drops nulls and Go's empty structs, so a key with null has no meaning.
    let (current, desired) = (
        current.filter(|v| !v.is_null()),
        desired.filter(|v| !v.is_null()),
    );
    match (current, desired) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut keys: Vec<&String> = a
                .keys()
                .chain(b.keys().filter(|key| !a.contains_key(*key)))
                .collect();
            keys.sort_unstable();
            for key in keys {
                collect(&below(path, key), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Object(only)), None) if !only.is_empty() => {
            only.iter()
                .for_each(|(key, value)| collect(&below(path, key), Some(value), None, found));
        }
        (None, Some(Value::Object(only))) if !only.is_empty() => {
            only.iter()
                .for_each(|(key, value)| collect(&below(path, key), None, Some(value), found));
        }
        (current, desired) if current != desired => found.push(Change {
            path: path.to_owned(),
            current,
            desired,
        }),
        _ => {}
    }
}

/// RFC 6901: `~` and `/` in a key are written as `~0` and `~1`.
fn below(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(a: &Value, b: &Value) -> Vec<String> {
        changes("/spec", a, b)
            .into_iter()
            .map(|change| change.path)
            .collect()
    }

    #[test]
    fn added_removed_and_changed_values_are_found_where_they_lie() {
        let (a, b) = (
            json!({ "a": { "x": 1, "y": 2 }, "l": [1] }),
            json!({ "a": { "x": 1, "z": 3 }, "l": [1, 2] }),
        );
        assert_eq!(paths(&a, &b), ["/spec/a/y", "/spec/a/z", "/spec/l"]);
    }

    #[test]
    fn a_tree_that_comes_or_goes_is_named_by_its_leaves() {
        let (a, b) = (json!({}), json!({ "gates": { "x": true } }));
        assert_eq!(paths(&a, &b), ["/spec/gates/x"]);
        assert_eq!(paths(&b, &a), ["/spec/gates/x"]);
    }

    #[test]
    fn equal_objects_do_not_differ_whatever_their_order_and_nulls() {
        let (a, b) = (json!({ "a": 1, "b": null }), json!({ "a": 1 }));
        assert!(paths(&a, &b).is_empty());
    }

    #[test]
    fn keys_with_slashes_do_not_pass_for_paths() {
        assert_eq!(paths(&json!({}), &json!({ "a/b~c": 1 })), ["/spec/a~1b~0c"]);
    }
}
