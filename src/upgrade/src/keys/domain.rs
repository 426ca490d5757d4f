//! The domain of a key.

use std::ops::Range;

/// The domains that matter to Careen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// `careen.dev`, or below it.
    Ours,
    /// A domain that resembles or contains ours, or a name that contains ours.
    Nearly,
    /// Cluster API's domain, which has the keys of a request and its answer.
    ClusterApi,
    /// Any other domain, or none, and a name without ours. There only a request in all but its
    /// domain matters.
    Foreign,
}

const OURS: &str = "careen.dev";
const WORD: &str = "careen";

/// What may be between the words of a domain or a name.
const BETWEEN: [char; 3] = ['.', '-', '_'];

/// Other words that differ from ours in one letter.
const OTHER_WORDS: [&str; 2] = ["career", "carmen"];

/// The domain of a key, and the rest of the key.
pub(super) fn of(key: &str) -> (Domain, String) {
    match key.split_once('/') {
        Some((domain, name)) => match class(&domain.to_ascii_lowercase()) {
            ours @ (Domain::Ours | Domain::Nearly) => (ours, name.to_owned()),
            others @ (Domain::ClusterApi | Domain::Foreign) => by_name(others, name),
        },
        None => by_name(Domain::Foreign, key),
    }
}

/// The domain itself, in which a word may also be: `paused.careen.dev/backup`.
pub(super) fn text(key: &str) -> &str {
    key.split_once('/').map_or("", |(domain, _)| domain)
}

fn by_name(domain: Domain, name: &str) -> (Domain, String) {
    let ours = without_ours(name).map(|rest| (Domain::Nearly, rest));
    ours.unwrap_or_else(|| (domain, name.to_owned()))
}

fn class(domain: &str) -> Domain {
    let is_below = |ours: &str| {
        let rest = domain.strip_suffix(ours);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if is_below(OURS) {
        return Domain::Ours;
    }
    if place_of_ours(domain).is_some() {
        return Domain::Nearly;
    }
    if is_below("cluster.x-k8s.io") || domain.contains("cluster") && domain.ends_with("k8s.io") {
        return Domain::ClusterApi;
    }
    match strsim::osa_distance(domain, OURS) <= 2 {
        true => Domain::Nearly,
        false => Domain::Foreign,
    }
}

/// `careen-paused`, `careen.dev.paused`, `careenPaused`, `careenpaused`, `caren-paused`,
/// `pause-careen`, `node-careen-paused`, `no-careen`, `careen`: what is left of a name that
/// contains ours.
fn without_ours(name: &str) -> Option<String> {
    let ours = place_of_ours(name)?;
    let before = name.get(..ours.start)?.trim_end_matches(BETWEEN);
    let after = without_dev(name.get(ours.end..)?).trim_start_matches(BETWEEN);
    Some(match (before, after) {
        ("", "") => WORD.to_owned(),
        ("", after) => after.to_owned(),
        // After another word ours stays, as a word of its own: `no-careen` is about Careen.
        (before, "") => format!("{before}-{WORD}"),
        (before, after) => format!("{before}-{WORD}-{after}"),
    })
}

/// The rest of our domain after our word.
fn without_dev(after: &str) -> &str {
    let rest = after.strip_prefix(".dev");
    let whole = rest.filter(|rest| rest.is_empty() || rest.starts_with(BETWEEN));
    whole.unwrap_or(after)
}

/// Where our word is: anywhere in the text, or with a letter wrong as a word of its own.
fn place_of_ours(text: &str) -> Option<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let exact = lower.find(WORD).map(|start| start..start + WORD.len());
    exact.or_else(|| words(text).find(|place| lower.get(place.clone()).is_some_and(is_near)))
}

/// The places of the words, which end at punctuation and before a capital.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut was_small = false;
    let begins = text.char_indices().filter_map(move |(at, letter)| {
        let is_camel = was_small && letter.is_ascii_uppercase();
        was_small = letter.is_ascii_lowercase();
        if BETWEEN.contains(&letter) {
            Some((at, at + letter.len_utf8()))
        } else {
            is_camel.then_some((at, at))
        }
    });
    let mut start = 0;
    let last = (text.len(), text.len());
    begins.chain([last]).map(move |(end, next)| {
        let word = start..end;
        start = next;
        word
    })
}

fn is_near(word: &str) -> bool {
    !OTHER_WORDS.contains(&word) && strsim::osa_distance(word, WORD) <= 1
}
