//! The pictures of the docs are drawn from the sources beside them, and say what they show.
#![allow(clippy::unwrap_used)]

mod scene;

use std::fs;
use std::path::PathBuf;

use scene::page;
use serde_json::Value;

/// The files in docs/pictures that end so.
fn pictures(end: &str) -> Vec<PathBuf> {
    let folder = page::source().join("docs/pictures");
    let files = fs::read_dir(folder).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|found| found == end))
        .collect()
}

/// What pictures are drawn from: graphs, recorded terminals, and a dashboard's data.
fn sources() -> impl Iterator<Item = PathBuf> {
    ["dot", "cast", "json"].into_iter().flat_map(pictures)
}

/// The source that a picture was drawn from; it holds it whole.
fn drawn_from(svg: &str) -> Option<&str> {
    let (_, rest) = svg.split_once("<metadata id=\"source\"><![CDATA[")?;
    Some(rest.split_once("]]></metadata>")?.0)
}

#[test]
fn each_picture_is_drawn_from_the_source_beside_it() {
    let graphs = pictures("dot");
    assert!(graphs.len() >= 4, "only {graphs:?}");
    for source in sources() {
        let text = fs::read_to_string(&source).unwrap();
        let svg = fs::read_to_string(source.with_extension("svg")).unwrap_or_default();
        let same = drawn_from(&svg) == Some(&text);
        assert!(same, "{} has changed: run make pictures", source.display());
    }
}

#[test]
fn a_picture_that_is_older_than_its_source_is_noticed() {
    let svg = "<svg><metadata id=\"source\"><![CDATA[digraph { a -> b }]]></metadata></svg>";
    assert_eq!(drawn_from(svg), Some("digraph { a -> b }"));
    assert_eq!(drawn_from("<svg></svg>"), None);
}

#[test]
fn every_picture_appears_on_a_page_with_an_alt_text() {
    let pages = page::all();
    for picture in pictures("svg") {
        let name = picture.file_name().unwrap().to_str().unwrap();
        let link = format!("pictures/{name})");
        let shows = |line: &str| {
            let image = line
                .split_once("![")
                .and_then(|(_, rest)| rest.split_once("]("));
            image.is_some_and(|(alt, to)| alt.len() > 20 && to.contains(&link))
        };
        let shown = pages.iter().any(|(_, text)| text.lines().any(shows));
        assert!(shown, "no page shows {name} with an alt text");
    }
}

#[test]
fn each_drawn_picture_is_light_or_dark_as_its_page_is() {
    for source in sources() {
        let picture = source.with_extension("svg");
        let svg = fs::read_to_string(&picture).unwrap();
        let follows = svg.contains("prefers-color-scheme: dark");
        assert!(follows, "{} has one scheme alone", picture.display());
    }
}

#[test]
fn no_picture_loads_anything() {
    for picture in pictures("svg") {
        let svg = fs::read_to_string(&picture).unwrap();
        for outside in ["<script", "<image", "@import", "url(http", "href=\"http"] {
            assert!(
                !svg.contains(outside),
                "{} has {outside}",
                picture.display()
            );
        }
    }
}

#[test]
fn the_dashboards_picture_shows_the_panels_that_are_shipped() {
    let read = |path: &str| -> Value {
        serde_json::from_slice(&fs::read(page::source().join(path)).unwrap()).unwrap()
    };
    let shipped = read("packaging/monitoring/dashboard.json");
    let shown = read("docs/pictures/dashboard.json");
    let mut shipped = shipped["panels"].as_array().unwrap().iter();
    let shown = shown.as_array().unwrap();
    let rows = shown.iter().filter(|panel| panel["type"] == "row");
    assert_eq!(rows.count(), 3, "docs/monitoring.md says three rows");
    for panel in shown {
        let title = &panel["title"];
        let same = |of: &&Value| {
            (&of["title"], &of["type"], &of["gridPos"]) == (title, &panel["type"], &panel["at"])
        };
        assert!(shipped.any(|of| same(&of)), "{title} is no panel here");
    }
}
