//! The policy's documentation says what the code does.
#![allow(clippy::unwrap_used)]

use upgrade::Policy;

#[test]
fn the_documented_defaults_are_the_ones_in_force_and_every_key_is_documented() {
    let docs = include_str!("../../../docs/policy.md");
    let block = docs
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
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
