//! The two copies of the record: the first as it is on the disk, then, after a line of `%%`, the
//! body of the second with a correct checksum. Without that line there is no second copy.

use std::fs;
use std::path::Path;

use host::record::Store;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use upgrade::record::FORMAT;
use upgrade::{Reason, Record, RecordStore, names};

/// The longest reason, in characters: it goes onto the Node.
const LONGEST: usize = 2000;

const SEPARATOR: &[u8] = b"\n%%\n";

#[derive(Deserialize)]
struct Head {
    #[allow(dead_code)] // must be there, whatever it is
    format: u32,
    min_reader: u32,
    generation: u64,
}

/// A complete copy wins over a damaged one and a newer over an older. A read returns what was
/// written. Damage to the last write brings back the content before it.
pub fn check(input: &[u8]) {
    let (first, body) = split(input);
    let second = body.map(seal);
    let state = crate::folder().join(names::STATE_DIR);
    let _ = fs::remove_dir_all(&state);
    assert!(fs::create_dir_all(&state).is_ok());
    let paths = ["record.a", "record.b"].map(|name| state.join(name));
    let copies = [Some(first.to_vec()), second];
    for (path, copy) in paths.iter().zip(&copies) {
        if let Some(copy) = copy {
            assert!(fs::write(path, copy).is_ok());
        }
    }
    let mut store = Store::new(crate::folder());
    let read = store.read();
    if let Err(reason) = &read {
        assert!(reason.to_string().chars().count() <= LONGEST, "{reason}");
    }
    let whole = copies.iter().flatten().filter_map(|copy| unseal(copy));
    let newest = whole.max_by_key(|(head, _)| head.generation);
    let Some((head, body)) = newest else {
        assert!(
            matches!(read, Err(Reason::RecordDamaged { .. })),
            "{read:?}"
        );
        return;
    };
    match &read {
        Err(Reason::RecordNewer { known: FORMAT, .. }) => assert!(head.min_reader > FORMAT),
        Err(Reason::RecordDamaged { .. }) => {
            assert!(serde_json::from_slice::<Record>(body).is_err())
        }
        Err(other) => unreachable!("{other:?}"),
        Ok(record) => {
            assert!(head.min_reader <= FORMAT);
            write_on(&mut store, record, &paths);
        }
    }
}

fn write_on(store: &mut Store, record: &Record, paths: &[std::path::PathBuf; 2]) {
    let next = Record {
        generation: record.generation + 1,
        ..record.clone()
    };
    if next.generation == u64::MAX {
        assert!(store.store(&next).is_err(), "it would not be read back");
        return;
    }
    let before = paths.each_ref().map(|path| fs::read(path).ok());
    assert!(store.store(&next).is_ok());
    assert_eq!(
        store.read().as_ref(),
        Ok(&next),
        "it is not what was written"
    );
    let changed = paths
        .iter()
        .zip(before)
        .filter(|(path, before)| fs::read(path).ok() != *before);
    let changed: Vec<_> = changed.map(|(path, _)| path).collect();
    assert_eq!(
        changed.len(),
        1,
        "one copy is written, the other left alone"
    );
    damage(changed[0]);
    assert_eq!(store.read().as_ref(), Ok(record), "it does not come back");
}

/// Flips one bit at some position.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap_or_default();
    let at = bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % bytes.len();
    bytes[at] ^= 1;
    assert!(fs::write(path, bytes).is_ok());
}

fn split(input: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut windows = input.windows(SEPARATOR.len());
    match windows.position(|window| window == SEPARATOR) {
        None => (input, None),
        Some(at) => (&input[..at], Some(&input[at + SEPARATOR.len()..])),
    }
}

/// The format of a copy, implemented a second time: the body, a newline, its checksum in
/// hexadecimal digits, a newline.
fn seal(body: &[u8]) -> Vec<u8> {
    let sum: String = Sha256::digest(body)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    [body, format!("\nsha256:{sum}\n").as_bytes()].concat()
}

fn unseal(copy: &[u8]) -> Option<(Head, &[u8])> {
    let length = "\nsha256:\n".len() + 64;
    let body = copy.get(..copy.len().checked_sub(length)?)?;
    let head: Head = (seal(body) == copy).then(|| serde_json::from_slice(body).ok())??;
    // The last possible generation has no successor.
    let head = Some(head).filter(|head| head.generation < u64::MAX)?;
    Some((head, body))
}
