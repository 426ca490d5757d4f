//! GRUB's environment block.

use host::loader::grub::{Grubenv, LENGTH, NEXT_ENTRY};

/// What we take is written back byte by byte, GRUB finds the one-shot in it that we find, and once it is set or cleared it is
/// so for GRUB too, with all else as it was.
pub fn check(input: &[u8]) {
    // A mutation that changes the length is filled up: almost every block would be refused for that alone.
    let mut block = input.to_vec();
    if !block.is_empty() && block.len() < LENGTH {
        block.resize(LENGTH, b'#');
    }
    let Ok(env) = Grubenv::parse(&block) else {
        return;
    };
    assert_eq!(env.format().as_deref(), Ok(block.as_slice()));
    let found = grubs_variables(&block);
    assert_eq!(
        env.next_entry().is_some(),
        value(&found, NEXT_ENTRY.as_bytes()).is_some_and(|value| !value.is_empty()),
        "GRUB sees {found:?}"
    );
    for position in [None, Some(7)] {
        let mut set = env.clone();
        set.set_next_entry(position);
        let Ok(written) = set.format() else {
            continue;
        };
        assert_eq!(written.len(), LENGTH);
        assert_eq!(Grubenv::parse(&written).as_ref(), Ok(&set));
        let now = grubs_variables(&written);
        let wanted = position.map(|position| position.to_string().into_bytes());
        assert_eq!(value(&now, NEXT_ENTRY.as_bytes()), wanted.as_deref());
        assert_eq!(others(&now), others(&found));
    }
}

type Variables = Vec<(Vec<u8>, Vec<u8>)>;

/// `load_env` sets one after the other, so the last one stays.
fn value<'a>(variables: &'a Variables, name: &[u8]) -> Option<&'a [u8]> {
    let mut named = variables.iter().filter(|(found, _)| found == name);
    named.next_back().map(|(_, value)| value.as_slice())
}

fn others(variables: &Variables) -> Vec<&(Vec<u8>, Vec<u8>)> {
    let named = |(name, _): &&(Vec<u8>, Vec<u8>)| name != NEXT_ENTRY.as_bytes();
    variables.iter().filter(named).collect()
}

/// GRUB's own reading, `grub_envblk_iterate` (grub-core/lib/envblk.c).
fn grubs_variables(block: &[u8]) -> Variables {
    let mut found = Vec::new();
    let mut at = "# GRUB Environment Block\n".len();
    while at < block.len() {
        if block[at] != b'#' {
            let Some(equals) = block[at..].iter().position(|byte| *byte == b'=') else {
                break;
            };
            let (name, mut value) = (block[at..at + equals].to_vec(), Vec::new());
            at += equals + 1;
            while at < block.len() && block[at] != b'\n' {
                at += usize::from(block[at] == b'\\');
                value.extend(block.get(at));
                at += 1;
            }
            found.push((name, value));
        }
        while at < block.len() && block[at] != b'\n' {
            at += 1 + usize::from(block[at] == b'\\');
        }
        at += 1;
    }
    found
}
