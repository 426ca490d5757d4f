//! The page that is rendered from the code. `CAREEN_BLESS=1 cargo test -p kubectl-careen --test docs` writes it anew.

use std::path::Path;

#[test]
fn the_page_of_commands_and_exit_codes_is_what_the_code_says() {
    let path = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("../../docs/kubectl-careen.md");
    let page = kubectl::reference::page();
    if std::env::var_os("CAREEN_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, page,
        "docs/kubectl-careen.md has drifted: run CAREEN_BLESS=1 cargo test -p kubectl-careen --test docs"
    );
}
