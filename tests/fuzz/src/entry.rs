//! Boot Loader Specification entries and the grub.cfg that is generated from them. A line of `%%`
//! separates entries.

use host::boot::{Entry, Link};
use host::loader::grub::generate::{Item, render};
use host::loader::grub::script::Script;

use crate::shell;

/// The longest value that a message repeats, in characters, with the marks of a cut.
const SHOWN: usize = 242;

/// For any entries, GRUB can read the configuration to its end, finds each entry at its position,
/// and gives the kernel exactly the words of the entry.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let entries: Vec<Entry> = text
        .split("\n%%\n")
        .filter_map(|entry| entry.parse().ok())
        .collect();
    for link in entries.iter().filter_map(Entry::ostree) {
        match link.parse::<Link>() {
            Ok(link) => assert!(!link.stateroot.contains('/') && link.bootcsum != ".."),
            Err(bad) => assert!(bad.value.chars().count() <= SHOWN, "{bad}"),
        }
    }
    // No path, title or argument contains a zero byte, because libostree writes them from C
    // strings.
    if text.contains('\0') {
        return;
    }
    let items = entries.iter().enumerate().map(|(at, entry)| Item {
        entry: entry.clone(),
        proven: at % 2 == 1,
    });
    let items: Vec<Item> = items.collect();
    let config = render(&items, "/grub/grubenv", host::loader::TRIAL_ARGUMENTS);
    let menu = shell::menu(&config).unwrap_or_else(|why| unreachable!("{why}:\n{config}"));
    assert_eq!(
        menu.len(),
        items.len() + 1,
        "an entry each, and Reboot:\n{config}"
    );
    for (at, item) in items.iter().enumerate() {
        same(&menu[at], &item.entry, at > 0, &config);
    }
    found(&config, &entries);
}

/// GRUB sees the same entry that was given.
fn same(shown: &shell::MenuEntry, entry: &Entry, trial: bool, config: &str) {
    assert_eq!(shown.title, entry.title, "{config}");
    let mut wanted = vec!["linux".to_owned(), entry.linux.clone()];
    wanted.extend(arguments(&entry.options));
    wanted.extend(trial.then(|| "$careen_trial".to_owned()));
    assert_eq!(shown.command("linux"), Some(wanted), "{config}");
    for (name, file) in [("initrd", &entry.initrd), ("devicetree", &entry.devicetree)] {
        let wanted = file
            .as_ref()
            .map(|file| vec![name.to_owned(), file.clone()]);
        assert_eq!(shown.command(name), wanted, "{config}");
    }
}

/// The kernel's own words (lib/cmdline.c, `next_arg`): spaces within double quotes do not separate.
/// A quote without an end is a normal character here: the kernel would treat everything after it,
/// including the root, as one word.
fn arguments(options: &str) -> Vec<String> {
    let pairs = options.matches('"').count() / 2 * 2;
    let (mut words, mut word, mut quotes, mut begun) = (Vec::new(), String::new(), 0, false);
    for letter in options.chars().chain([' ']) {
        let quoted = quotes % 2 == 1;
        if letter == '"' && quotes < pairs {
            quotes += 1;
            begun = true;
        } else if letter.is_ascii_whitespace() && !quoted {
            if begun {
                words.push(std::mem::take(&mut word));
            }
            begun = false;
        } else {
            word.push(letter);
            begun = true;
        }
    }
    words
}

/// Careen's own reader of the configuration, which gives GRUB positions, counts as GRUB does.
fn found(config: &str, entries: &[Entry]) {
    let script = Script::read(config);
    assert!(script.honours_one_shot());
    assert_eq!(script.default_position(|_| None), Ok(0));
    for (at, entry) in entries.iter().enumerate() {
        assert!(
            script.is_certain(at) && (at == 0 || script.makes_a_trial(at)),
            "{config}"
        );
        let plain = |link: &&str| {
            link.bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"/._-".contains(&c))
        };
        let Some(link) = entry
            .ostree()
            .filter(plain)
            .filter(|_| !entry.options.contains('"'))
        else {
            continue;
        };
        let first = entries
            .iter()
            .position(|other| arguments(&other.options).contains(&format!("ostree={link}")));
        assert_eq!(script.position_of(link), first, "{config}");
    }
}
