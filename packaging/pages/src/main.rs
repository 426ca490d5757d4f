//! `careen-pages OUT`: writes manual pages and completions into the folder OUT.
//! `packaging/papers.sh` runs it.

use std::path::Path;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let out = std::env::args_os().nth(1);
    pages::write(Path::new(&out.context("usage: careen-pages OUT-FOLDER")?))
}
