//! The order of what follows a version's numbers.
//!
//! `-rc.1` is a pre-release of Kubernetes, while `-eks-1-30-12`, `-gke.100` and `+rke2r2` name a
//! vendor's build of the release. Only the first word tells them apart.

use std::cmp::Ordering;

/// The words that Kubernetes' own pre-releases begin with, and those that builds between releases
/// use. Any other word belongs to a vendor.
const PRE_RELEASES: [&str; 9] = [
    "alpha", "beta", "dev", "nightly", "pre", "preview", "rc", "snapshot", "unstable",
];

/// Orders two suffixes by their pre-releases alone. A release sorts after its pre-releases.
pub(super) fn pre_releases(one: &str, other: &str) -> Ordering {
    match (pre_release(one), pre_release(other)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(one), Some(other)) => identifiers(one, other),
    }
}

/// The pre-release in a suffix: `rc.1` of `-rc.1-eks-1+build`.
fn pre_release(suffix: &str) -> Option<&str> {
    let rest = suffix.strip_prefix('-')?;
    let rest = rest.split(['-', '+']).next().unwrap_or_default();
    let end = rest.find(|c: char| !c.is_ascii_alphabetic());
    let word = &rest[..end.unwrap_or(rest.len())];
    let is_one = |known: &&str| known.eq_ignore_ascii_case(word);
    PRE_RELEASES.iter().any(is_one).then_some(rest)
}

/// Orders identifiers between dots as Semantic Versioning does (semver.org, item 11), except that
/// digits within an identifier count as a number: `rc10` sorts after `rc9`.
fn identifiers(one: &str, other: &str) -> Ordering {
    let key = |part: &str| !part.bytes().all(|c| c.is_ascii_digit());
    let mut pairs = one.split('.').zip(other.split('.'));
    let first = pairs.find_map(|(one, other)| {
        let order = key(one).cmp(&key(other)).then_with(|| natural(one, other));
        (order != Ordering::Equal).then_some(order)
    });
    let count = |text: &str| text.split('.').count();
    first.unwrap_or_else(|| count(one).cmp(&count(other)))
}

/// Orders texts in which runs of digits count as numbers of any length.
pub(super) fn natural(one: &str, other: &str) -> Ordering {
    runs(one).cmp(runs(other))
}

/// A run of digits or of other letters.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Run<'a> {
    /// A number: its length without leading zeros, and its digits.
    Number(usize, &'a str),
    /// Other letters, in lower case for the order alone.
    Text(String),
}

fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit);
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(if is_digit {
            let digits = run.trim_start_matches('0');
            Run::Number(digits.len(), digits)
        } else {
            Run::Text(run.to_ascii_lowercase())
        })
    })
}
