//! Finds the image for a version, for one Machine.

use std::collections::BTreeMap;

use upgrade::Target;

use super::crd::{Entry, ImageCatalogue};
use crate::engine::{Why, clean};
use crate::names;

/// The requirements for an image.
#[derive(Clone, Copy, Debug)]
pub struct For<'a> {
    /// The Machine or MachineSet, for messages.
    pub name: &'a str,
    /// The version.
    pub version: &'a str,
    /// The Machine's labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The node's architecture. If it is not known, any entry matches.
    pub architecture: Option<&'a str>,
}

/// The one entry that matches best. More selectors win.
///
/// # Errors
/// [`Why::NoImage`] and [`Why::TwoImages`], because the provider does not guess.
pub fn choose(catalogues: &[ImageCatalogue], wanted: For<'_>) -> Result<Target, Why> {
    let entries = catalogues.iter().flat_map(|one| &one.spec.images);
    let fitting: Vec<&Entry> = entries.filter(|entry| fits(entry, wanted)).collect();
    let best = fitting.iter().map(|entry| weight(entry)).max();
    let mut images: Vec<&str> = fitting
        .iter()
        .filter(|entry| Some(weight(entry)) == best)
        .map(|entry| entry.image.as_str())
        .collect();
    images.sort_unstable();
    images.dedup();
    match images[..] {
        [] => Err(Why::NoImage {
            version: clean(wanted.version),
            machine: wanted.name.to_owned(),
        }),
        [one] => parse(one),
        [first, second, ..] => Err(Why::TwoImages {
            version: clean(wanted.version),
            machine: wanted.name.to_owned(),
            first: first.to_owned(),
            second: second.to_owned(),
        }),
    }
}

/// The API server accepts nothing else, but an object may be older than its CRD.
fn parse(image: &str) -> Result<Target, Why> {
    image
        .parse()
        .map_err(|bad: upgrade::Malformed| Why::BadImage {
            field: "the ImageCatalogue's image".to_owned(),
            value: bad.value,
            accepted: bad.accepted.to_owned(),
            wrong: bad.wrong.unwrap_or_default(),
        })
}

fn fits(entry: &Entry, wanted: For<'_>) -> bool {
    let has = |(key, value): (&String, &String)| wanted.labels.get(key) == Some(value);
    let selected = entry
        .machine_selector
        .as_ref()
        .is_none_or(|selector| selector.match_labels.iter().all(has));
    let architecture = match (&entry.architecture, wanted.architecture) {
        (Some(needed), Some(found)) => needed == found,
        _ => true,
    };
    let stateroot = entry
        .stateroot
        .as_ref()
        .is_none_or(|root| wanted.labels.get(names::STATEROOT_LABEL) == Some(root));
    entry.kubernetes_version == wanted.version && selected && architecture && stateroot
}

fn weight(entry: &Entry) -> usize {
    let labels = entry.machine_selector.as_ref();
    labels.map_or(0, |selector| selector.match_labels.len())
        + usize::from(entry.architecture.is_some())
        + usize::from(entry.stateroot.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{ImageCatalogueSpec, Selector};

    fn image(word: char) -> String {
        format!("ostree:site:os@{}", word.to_string().repeat(64))
    }

    fn catalogue(images: Vec<Entry>) -> Vec<ImageCatalogue> {
        vec![ImageCatalogue::new(
            "default",
            ImageCatalogueSpec { images },
        )]
    }

    fn entry(word: char) -> Entry {
        Entry {
            kubernetes_version: "v1.36.3".to_owned(),
            image: image(word),
            ..Entry::default()
        }
    }

    fn find(
        all: &[ImageCatalogue],
        labels: &[(&str, &str)],
        architecture: Option<&str>,
    ) -> Result<String, String> {
        let labels = labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let wanted = For {
            name: "m",
            version: "v1.36.3",
            labels: &labels,
            architecture,
        };
        choose(all, wanted)
            .map(|target| target.to_string())
            .map_err(|why| why.code())
    }

    #[test]
    fn the_entry_with_the_most_selectors_wins() {
        let gpu = Selector {
            match_labels: BTreeMap::from([("pool".to_owned(), "gpu".to_owned())]),
        };
        let special = Entry {
            machine_selector: Some(gpu),
            ..entry('b')
        };
        let all = catalogue(vec![entry('a'), special]);
        assert_eq!(find(&all, &[("pool", "gpu")], None), Ok(image('b')));
        assert_eq!(find(&all, &[("pool", "web")], None), Ok(image('a')));
    }

    #[test]
    fn an_architecture_is_matched_where_it_is_known() {
        let arm = Entry {
            architecture: Some("arm64".to_owned()),
            ..entry('b')
        };
        let all = catalogue(vec![entry('a'), arm]);
        assert_eq!(find(&all, &[], Some("arm64")), Ok(image('b')));
        assert_eq!(find(&all, &[], Some("amd64")), Ok(image('a')));
    }

    #[test]
    fn nothing_is_guessed() {
        let all = catalogue(vec![entry('a'), entry('b')]);
        assert_eq!(find(&all, &[], None), Err("TwoImages".to_owned()));
        assert_eq!(find(&[], &[], None), Err("NoImage".to_owned()));
        assert_eq!(
            find(&catalogue(vec![entry('a'), entry('a')]), &[], None),
            Ok(image('a'))
        );
    }

    #[test]
    fn a_stateroot_is_the_machines_label() {
        let other = Entry {
            stateroot: Some("edge".to_owned()),
            ..entry('b')
        };
        let all = catalogue(vec![entry('a'), other]);
        assert_eq!(
            find(&all, &[(names::STATEROOT_LABEL, "edge")], None),
            Ok(image('b'))
        );
        assert_eq!(find(&all, &[], None), Ok(image('a')));
    }
}
