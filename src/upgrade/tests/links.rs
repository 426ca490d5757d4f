//! Every link of the pages leads to a file that is there, and to a heading in it. `make docs`
//! checks the same on the site, but not every machine runs it.
#![allow(clippy::unwrap_used)]

mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use scene::page::source;

/// The pages by their path in the source tree: those at its top, and the docs.
fn pages() -> BTreeMap<PathBuf, String> {
    let docs = fs::read_dir(source().join("docs")).unwrap();
    let docs = docs.map(|file| Path::new("docs").join(file.unwrap().file_name()));
    ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
        .map(PathBuf::from)
        .into_iter()
        .chain(docs.filter(|path| path.extension().is_some_and(|end| end == "md")))
        .map(|path| {
            (
                path.clone(),
                fs::read_to_string(source().join(path)).unwrap(),
            )
        })
        .collect()
}

/// The lines that are no code between fences.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// What is linked to, without other people's sites.
fn links(text: &str) -> Vec<&str> {
    let linked = lines(text).flat_map(|line| line.split("](").skip(1));
    linked
        .filter_map(|rest| Some(rest.split_once(')')?.0))
        .filter(|link| !link.contains("://"))
        .collect()
}

/// What GitHub makes of a heading: punctuation goes, every blank becomes a hyphen.
fn on_github(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
    let text: String = heading.to_lowercase().chars().filter(kept).collect();
    text.trim().replace(' ', "-")
}

/// What MkDocs makes of it: nothing but ASCII stays, and blanks and hyphens side by side become
/// one.
fn on_the_site(heading: &str) -> String {
    let ascii: String = on_github(heading).chars().filter(char::is_ascii).collect();
    let words = ascii.split('-').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The anchors that are the same on GitHub and on the site. Of two equal headings the first has it.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = lines(text).filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then_some(heading.strip_prefix(' ')?)
    });
    headings
        .filter(|heading| on_github(heading) == on_the_site(heading))
        .map(on_github)
        .collect()
}

/// Whether a picture, or another file, is in the folder that becomes the site.
fn is_in_docs(target: &Path) -> bool {
    let inside = !target.components().any(|part| part == Component::ParentDir);
    inside && source().join(target).is_file()
}

/// What is wrong with a link on a page, if anything.
fn amiss(pages: &BTreeMap<PathBuf, String>, page: &Path, link: &str) -> Option<&'static str> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        _ => page.with_file_name(file),
    };
    match pages.get(&target) {
        // Only docs/ is on the site.
        None if page.starts_with("docs") && !is_in_docs(&target) => Some("no such file in docs"),
        None if !source().join(&target).exists() => Some("no such file"),
        Some(text) if !anchor.is_empty() && !anchors(text).contains(anchor) => {
            Some("no such heading on GitHub and on the site")
        }
        _ => None,
    }
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let (mut looked_at, mut broken) = (0, Vec::new());
    for (page, text) in &pages {
        for link in links(text) {
            looked_at += 1;
            if let Some(why) = amiss(&pages, page, link) {
                broken.push(format!("{}: {link}: {why}", page.display()));
            }
        }
    }
    assert!(looked_at > 200, "only {looked_at} links were found");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
    let pages = BTreeMap::from([
        page("README.md", ""),
        page("docs/a.md", "# One: `two`\n```\n# three\n```\n## a - b\n"),
    ]);
    let is_bad = |from: &str, link: &str| amiss(&pages, Path::new(from), link).is_some();
    for (from, link) in [
        ("README.md", "docs/a.md#one-two"),
        ("docs/a.md", "#one-two"),
    ] {
        assert!(!is_bad(from, link), "{link}");
    }
    for link in [
        "b.md",
        "#three",
        "a.md#a-b",
        "../README.md",
        "a.md#two",
        "pictures/none.svg",
    ] {
        assert!(is_bad("docs/a.md", link), "{link}");
    }
}

/// The pages that the menu of the site leads to, in its order.
fn menu() -> Vec<String> {
    let text = fs::read_to_string(source().join("mkdocs.yml")).unwrap();
    let (_, menu) = text.split_once("\nnav:\n").unwrap();
    let entries = menu.lines().filter_map(|line| line.split_once(": "));
    entries.map(|(_, page)| page.to_owned()).collect()
}

#[test]
fn the_menu_of_the_site_has_every_page_once() {
    let pages = pages().into_keys();
    let pages: Vec<String> = pages
        .filter_map(|path| Some(path.strip_prefix("docs").ok()?.to_str()?.to_owned()))
        .collect();
    let mut menu = menu();
    menu.sort();
    assert_eq!(menu, pages);
}
