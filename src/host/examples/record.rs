//! The record as this version reads it: `record read <sysroot>` prints it, `record
//! rewrite <sysroot>` writes it again as the next generation, and `record commit` prints the commit
//! it was built from.
//!
//! `.ci/old-record` also builds this file at an old commit, so it uses only what has existed since
//! the first one.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::path::Path;

use host::record::Store;
use upgrade::RecordStore as _;

/// The commit it was built from, set by the build.
const COMMIT: Option<&str> = option_env!("CAREEN_COMMIT");

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["commit"] => println!("{}", COMMIT.unwrap_or("unknown")),
        ["read", sysroot] => {
            // A reason is not an error type in every version.
            let record = Store::new(Path::new(sysroot)).read();
            let record = record.map_err(|reason| format!("{reason}"))?;
            println!("{}", serde_json::to_string_pretty(&record)?);
        }
        ["rewrite", sysroot] => {
            let mut store = Store::new(Path::new(sysroot));
            let mut record = store.read().map_err(|reason| format!("{reason}"))?;
            record.generation += 1;
            store.store(&record)?;
        }
        _ => return Err("usage: record commit | read <sysroot> | rewrite <sysroot>".into()),
    }
    Ok(())
}
