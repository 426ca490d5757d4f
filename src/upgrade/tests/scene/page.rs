//! Pages of the docs: read, and held against what the code renders.

use std::fs;
use std::path::{Path, PathBuf};

pub fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

pub fn read(page: &str) -> String {
    let path = source().join("docs").join(page);
    fs::read_to_string(path).unwrap_or_default()
}

/// The section of a page below this heading.
pub fn section(page: &str, heading: &str) -> String {
    let page = read(page);
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

/// Every page and the README, by name.
pub fn all() -> Vec<(String, String)> {
    let docs = fs::read_dir(source().join("docs")).unwrap();
    let names = docs.map(|file| file.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md"));
    let readme = fs::read_to_string(source().join("README.md")).unwrap();
    pages
        .map(|name| (name.clone(), read(&name)))
        .chain([("README.md".to_owned(), readme)])
        .collect()
}

/// `CAREEN_BLESS=1` writes the page again.
pub fn check_drift(page: &str, rendered: &str) {
    if std::env::var_os("CAREEN_BLESS").is_some() {
        fs::write(source().join("docs").join(page), rendered).unwrap();
    }
    assert_eq!(
        read(page),
        rendered,
        "docs/{page} has drifted: run CAREEN_BLESS=1 cargo test -p upgrade"
    );
}
