//! A grub.cfg that another program wrote.

use host::loader::grub::script::Script;

/// Positions are within the menu, the position of a link belongs to an entry with that link, and
/// what is uncertain stays uncertain in submenus.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let script = Script::read(&text);
    let entries = text.lines().filter(|line| is_entry(line.trim())).count();
    for saved in [
        "",
        "0",
        "1",
        "99999999999999999999",
        "Debian 2 (ostree:1)",
        "-1",
        "a>b",
    ] {
        let found = script.default_position(|_| Some(saved.to_owned()));
        assert!(found.is_err() || found < Ok(entries.max(1)), "{found:?}");
    }
    let links = text
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix("ostree="));
    for link in links.take(8) {
        let Some(position) = script.position_of(link) else {
            continue;
        };
        assert!(position < entries);
    }
    assert!(script.position_of("/no/such/link").is_none() || text.contains("/no/such/link"));
    for position in 1..entries {
        assert!(script.is_certain(position - 1) || !script.is_certain(position));
    }
    assert!(!script.makes_a_trial(entries));
    assert!(!script.honours_one_shot() || text.contains("save_env"));
}

fn is_entry(line: &str) -> bool {
    line.starts_with("menuentry ") || line.starts_with("submenu ")
}
