//! The policy's documentation says what the code does.
#![allow(clippy::unwrap_used)]

use upgrade::Policy;

fn block() -> &'static str {
    let docs = include_str!("../../../docs/policy.md");
    let from = docs.split("```toml\n").nth(1).unwrap();
    from.split("```").next().unwrap()
}

#[test]
fn documented_policy_covers_every_key_with_its_default() {
    let block = block();
    let documented: Policy = toml::from_str(block).unwrap();
    assert_eq!(documented, Policy::default());
    let keys = |text: &str| text.parse::<toml::Table>().unwrap();
    let all = toml::to_string(&Policy::default()).unwrap();
    assert_eq!(flat(&keys(block)), flat(&keys(&all)));
}

fn flat(table: &toml::Table) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => {
                keys.extend(flat(inner).into_iter().map(|k| format!("{key}.{k}")))
            }
            _ => keys.push(key.clone()),
        }
    }
    keys.sort();
    keys
}

/// The whole name of each key on the page, with what its comment says.
fn commented() -> Vec<(String, &'static str)> {
    let mut table = String::new();
    let mut found = Vec::new();
    for line in block().lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.split(']').next().unwrap());
        } else if let Some((key, rest)) = line.split_once(" = ") {
            let comment = rest.split_once("# ").map_or("", |(_, comment)| comment);
            found.push((format!("{table}{key}"), comment));
        }
    }
    found
}

/// What the policy says to one number in this place, all else being the defaults.
fn refused(name: &str, value: i64) -> Option<&'static str> {
    let text = match name.split_once('.') {
        None => format!("{name} = {value}"),
        Some((table, key)) => format!("[{table}]\n{key} = {value}"),
    };
    let policy: Policy = toml::from_str(&text).ok()?;
    policy.validate().err().map(|outside| outside.accepted)
}

#[test]
fn the_documented_ranges_are_the_ones_that_are_accepted() {
    let mut ranges = 0;
    for (name, comment) in commented() {
        let words = [0, 1_000_000]
            .into_iter()
            .find_map(|value| refused(&name, value));
        let Some(accepted) = words else { continue };
        assert!(
            comment.ends_with(accepted),
            "{name}: {comment:?} does not end in {accepted:?}"
        );
        let (low, high) = accepted.split_once(" to ").unwrap();
        // "0, or 60", or a word in place of the 0.
        let low = low.rsplit(' ').next().unwrap();
        let (low, high): (i64, i64) = (low.parse().unwrap(), high.parse().unwrap());
        assert_eq!(
            (refused(&name, low), refused(&name, high)),
            (None, None),
            "{name}"
        );
        assert_eq!(refused(&name, high + 1), Some(accepted), "{name}");
        ranges += 1;
    }
    assert!(ranges >= 10, "only {ranges} ranges were found");
}
