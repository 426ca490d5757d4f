//! GRUB's environment block.

use host::loader::grub::{Grubenv, LENGTH, NEXT_ENTRY};

/// A block that Careen accepts is written back byte by byte, and GRUB finds the same one-shot in
/// it. After a set or a clear GRUB sees the change too, and everything else is unchanged.
pub fn check(input: &[u8]) {
    // A mutation that changes the length is padded. Otherwise Careen would reject almost every
    // block for its length.
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

/// `load_env` sets one variable after the other, so the last one stays.
fn value<'a>(variables: &'a Variables, name: &[u8]) -> Option<&'a [u8]> {
    let mut named = variables.iter().filter(|(found, _)| found == name);
    named.next_back().map(|(_, value)| value.as_slice())
}

fn others(variables: &Variables) -> Vec<&(Vec<u8>, Vec<u8>)> {
    let named = |(name, _): &&(Vec<u8>, Vec<u8>)| name != NEXT_ENTRY.as_bytes();
    variables.iter().filter(named).collect()
}

/// GRUB's own algorithm, `grub_envblk_iterate` (grub-core/lib/envblk.c).
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
