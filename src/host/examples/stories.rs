//! Every record that an upgrade writes on its way, to a good image and to each kind of bad one.
//! `stories <folder>` creates a root for each, with the record in it.
//!
//! `.ci/old-record` passes them to an old version.

#[path = "../tests/fake/mod.rs"]
mod fake;

use std::error::Error;
use std::path::{Path, PathBuf};

use fake::{Flaw, World};
use host::Places;
use host::record::Store;
use upgrade::{Record, RecordStore as _};

const FLAWS: [Flaw; 9] = [
    Flaw::None,
    Flaw::Panics,
    Flaw::HangsInInitramfs,
    Flaw::Tampered,
    Flaw::AgentDead,
    Flaw::KubeletDown,
    Flaw::UserCheck,
    Flaw::NeverReady,
    Flaw::NoNetwork,
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: stories <folder>")?;
    let folder = PathBuf::from(folder);
    for flaw in FLAWS {
        let mut world = World::new(flaw);
        world.live();
        // If asked once more, it remembers the image and counts. The world allows the trials of one
        // request.
        if world.trials() <= 1 {
            world.ask_again("two");
            world.live();
        }
        for record in world.written() {
            leave(
                &folder.join(format!("{flaw:?}-{:03}", record.generation)),
                record,
            )?;
        }
    }
    Ok(())
}

fn leave(root: &Path, record: &Record) -> Result<(), Box<dyn Error>> {
    let sysroot = Places::running(root).sysroot;
    std::fs::create_dir_all(&sysroot)?;
    Store::new(&sysroot).store(record)?;
    Ok(())
}
